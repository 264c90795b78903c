// Sums of products: one running sum per partition, then one product with ones over the partitions.
#include "kernels/blas/level1/level1.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr std::int64_t kWidth = 1024;

struct Term {
  int x, y, out;
  bool negate;
};

// re and im of x y, or of conj(x) y.
std::vector<Term> terms_of(const DotConfig& config) {
  if (!config.x.is_complex) return {{0, 0, 0, false}};
  const bool conjugated = config.kind == DotKind::conjugated;
  return {{0, 0, 0, false}, {1, 1, 0, !conjugated}, {0, 1, 1, false}, {1, 0, 1, conjugated}};
}

// sums[:, out] += or -= the row sums of `product`.
void add_rows(Kernel& k, const View& sums, const View& product, int out, bool negate) {
  const View part = k.sbuf({product.dim(0), 1}, DType::float32);
  k.tensor_reduce({.dst = part, .op = AluOp::add, .data = product, .axis = {1}});
  const View sum = sums(ds(0, product.dim(0)), ds(out, 1));
  k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = part, .op = negate ? AluOp::subtract : AluOp::add});
}

std::vector<View> load(Kernel& k, const View& storage, const VectorShape& shape, const VectorTile& tile) {
  std::vector<View> planes;
  for (int p = 0; p < shape.planes(); ++p) {
    planes.push_back(k.sbuf({tile.rows, tile.width}, DType::float32));
    k.dma_copy({.dst = planes.back(), .src = tile_of(storage, shape, tile, p)});
  }
  return planes;
}

}  // namespace

Program dot(const DotConfig& config, Target target) {
  const bool is_magnitude = config.kind == DotKind::magnitude;
  Kernel k(is_magnitude ? "asum" : "dot", target);
  const View x = k.input("x", {config.x.storage()}, DType::float32);
  const View y = is_magnitude ? View() : k.input("y", {config.y.storage()}, DType::float32);
  const int outs = is_magnitude ? 1 : config.x.planes();
  const View sum = k.output("sum", {1, outs}, DType::float32);
  const View sums = k.sbuf({128, outs}, DType::float32);
  k.memset({.dst = sums, .value = 0.0});
  for_vector_tiles(k, config.x.n, kWidth, [&](const VectorTile& tile) {
    const std::vector<View> xs = load(k, x, config.x, tile);
    if (is_magnitude) {
      for (const View& plane : xs) {
        k.tensor_scalar({.dst = plane, .data = plane, .op0 = AluOp::abs});
        add_rows(k, sums, plane, 0, false);
      }
      return;
    }
    const std::vector<View> ys = load(k, y, config.y, tile);
    for (const Term& t : terms_of(config)) {
      const View product = k.sbuf({tile.rows, tile.width}, DType::float32);
      k.tensor_tensor({.dst = product, .data1 = xs[t.x], .data2 = ys[t.y], .op = AluOp::multiply});
      add_rows(k, sums, product, t.out, t.negate);
    }
  });
  const View result = k.sbuf({1, outs}, DType::float32);
  k.tensor_copy({.dst = result, .src = partition_sum(k, sums)});
  k.dma_copy({.dst = sum, .src = result});
  return k.finish();
}

}  // namespace kiln::kernels
