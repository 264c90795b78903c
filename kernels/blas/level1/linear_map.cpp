// Linear maps of vectors: load the planes of a tile, combine, store. Products and sums round once each, in the order
// of the columns, as loops of the reference do.
#include <fmt/format.h>

#include "kernels/blas/level1/level1.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr std::int64_t kWidth = 1024;

struct Plane {
  View storage;
  VectorShape shape;
  int plane;
};

std::vector<Plane> planes_of(Kernel& k, const LinearMapConfig& config) {
  static constexpr const char* kNames[] = {"x", "y"};
  std::vector<Plane> planes;
  for (std::size_t i = 0; i < config.inputs.size(); ++i) {
    const VectorShape& shape = config.inputs[i];
    const View storage = k.input(kNames[i], {shape.storage()}, DType::float32);
    for (int p = 0; p < shape.planes(); ++p) planes.push_back({storage, shape, p});
  }
  return planes;
}

std::int64_t given_count(const LinearMapConfig& config) {
  std::int64_t count = 0;
  for (const auto& row : config.coefficients) count += std::count(row.begin(), row.end(), Coefficient::given);
  return count;
}

// to = the combination of `tiles` that a row of coefficients says; `next` is the first scalar of that row.
void combine(Kernel& k, const View& to, const std::vector<View>& tiles, const std::vector<Coefficient>& row,
             const View& scalars, std::int64_t& next) {
  bool is_first = true;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (row[i] == Coefficient::zero) continue;
    const bool is_given = row[i] == Coefficient::given;
    const Operand factor = is_given ? Operand(scalars(ds(0, to.dim(0)), ds(next++, 1))) : Operand(1.0);
    if (is_first && is_given) {
      k.tensor_scalar({.dst = to, .data = tiles[i], .op0 = AluOp::multiply, .operand0 = factor});
    } else if (is_first) {
      k.tensor_copy({.dst = to, .src = tiles[i]});
    } else if (is_given) {
      k.scalar_tensor_tensor(
          {.dst = to, .data = tiles[i], .op0 = AluOp::multiply, .operand0 = factor, .op1 = AluOp::add, .operand1 = to});
    } else {
      k.tensor_tensor({.dst = to, .data1 = to, .data2 = tiles[i], .op = AluOp::add});
    }
    is_first = false;
  }
}

}  // namespace

Program linear_map(const LinearMapConfig& config, Target target) {
  Kernel k(config.name, target);
  const std::vector<Plane> planes = planes_of(k, config);
  const VectorShape out_shape{config.inputs[0].n, 1, config.inputs[0].is_complex};
  const std::size_t per_output = static_cast<std::size_t>(out_shape.planes());
  std::vector<View> outputs;
  const std::int64_t given = given_count(config);
  View scalars;
  if (given > 0) scalars = broadcast_row(k, k.input("scalars", {1, given}, DType::float32));
  for (std::size_t o = 0; o < config.coefficients.size() / per_output; ++o) {
    outputs.push_back(k.output(fmt::format("out{}", o), {out_shape.storage()}, DType::float32));
  }
  for_vector_tiles(k, out_shape.n, kWidth, [&](const VectorTile& tile) {
    std::vector<View> tiles;
    for (const Plane& p : planes) {
      tiles.push_back(k.sbuf({tile.rows, tile.width}, DType::float32));
      k.dma_copy({.dst = tiles.back(), .src = tile_of(p.storage, p.shape, tile, p.plane)});
    }
    std::int64_t next = 0;
    for (std::size_t row = 0; row < config.coefficients.size(); ++row) {
      const View to = k.sbuf({tile.rows, tile.width}, DType::float32);
      combine(k, to, tiles, config.coefficients[row], scalars, next);
      const int plane = static_cast<int>(row % per_output);
      k.dma_copy({.dst = tile_of(outputs[row / per_output], out_shape, tile, plane), .src = to});
    }
  });
  return k.finish();
}

}  // namespace kiln::kernels
