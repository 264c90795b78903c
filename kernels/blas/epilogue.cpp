#include "kernels/blas/epilogue.h"

namespace kiln::kernels {
using namespace isa;

Epilogue::Epilogue(Kernel& k, Scalar alpha, Scalar beta) : k_(k), alpha_(alpha), beta_(beta) {
  if (alpha != Scalar::given && beta != Scalar::given) return;
  const View scalars = k.input("scalars", {1, 2}, DType::float32);
  factors_ = k.sbuf({kTile, 2}, DType::float32);
  k.dma_copy({.dst = factors_, .src = scalars.broadcast(0, kTile)});
}

// out = alpha sum, by the vector and the scalar engine in turn.
void Epilogue::scale(const View& out, const View& sum, std::size_t turn) const {
  if (alpha_ != Scalar::given) return evict(k_, out, sum, turn);
  const View alpha = factor(0, sum.dim(0));
  if (turn % 2 == 0)
    k_.tensor_scalar({.dst = out, .data = sum, .op0 = AluOp::multiply, .operand0 = alpha});
  else
    k_.activation({.dst = out, .op = ActFn::copy, .data = sum, .scale = alpha});
}

void Epilogue::apply(const View& out, const View& sum, const View& c, std::size_t turn) const {
  if (!reads_c()) return scale(out, sum, turn);
  View scaled = sum;
  if (alpha_ == Scalar::given) {  // by the scalar engine: the vector engine adds
    scaled = k_.sbuf(sum.shape(), DType::float32);
    scale(scaled, sum, 1);
  }
  if (beta_ == Scalar::one) {
    k_.tensor_tensor({.dst = out, .data1 = c, .data2 = scaled, .op = AluOp::add});
  } else {
    k_.scalar_tensor_tensor({.dst = out,
                             .data = c,
                             .op0 = AluOp::multiply,
                             .operand0 = factor(1, sum.dim(0)),
                             .op1 = AluOp::add,
                             .operand1 = scaled});
  }
}

// Tiles of rows that leave together: stores of one short tile each would wait for each other.
constexpr std::int64_t kStoreBytes = 2048;  // of a partition

void Epilogue::store(const ProductBlock& block, const View& to, const View& from) const {
  const std::int64_t n = to.dim(1), together = std::max<std::int64_t>(1, kStoreBytes / (n * size_bytes(to.dtype())));
  const std::int64_t tiles = static_cast<std::int64_t>(block.rows().size());
  std::size_t turn = 0;
  for (std::int64_t first = 0; first < tiles;) {
    // A tile with fewer rows goes alone.
    std::int64_t count = 1;
    while (count < together && first + count < tiles && block.rows()[first + count].size == kTile) ++count;
    const std::int64_t height = block.rows()[first].size;
    const auto in_memory = [&](const View& c) {
      return c(ds(block.rows()[first].start, count * height)).reshape_dim(0, {count, height}).permute({1, 0, 2});
    };
    const View out = k_.sbuf({height, count, n}, to.dtype());
    View c;
    if (reads_c()) {
      c = k_.sbuf({height, count, n}, from.dtype());
      k_.dma_copy({.dst = c, .src = in_memory(from)});
    }
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::size_t i = 0; i < block.columns().size(); ++i) {
        const Slice columns = ds(block.columns()[i].start, block.columns()[i].size);
        apply(out(all, r, columns), block.sum(first + r, i), reads_c() ? c(all, r, columns) : View(), turn++);
      }
    }
    k_.dma_copy({.dst = in_memory(to), .src = out});
    first += count;
  }
}

}  // namespace kiln::kernels
