#include "kiln/tensor/lower/running_sum.h"

#include "kiln/base/error.h"
#include "kiln/tensor/lower/turn.h"

namespace kiln::tensor {

using isa::View;

namespace {

View part_of(const View& t, std::int64_t rows, std::int64_t at, std::int64_t n) {
  return t.ap({{t.dim(1), rows}, {1, n}}, at);
}

}  // namespace

View RunningSum::sum_of(Part& part, std::int64_t columns) {
  if (!part.sum) part.sum = k_.sbuf({kBlock, columns}, DType::float32), part.columns = columns;
  return *part.sum;
}

// What came first becomes the sum so far.
void RunningSum::settle(Part& part) {
  if (!part.first) return;
  const std::int64_t n = part.first->storage.dim(1);
  k_.tensor_copy({.dst = sum_of(part, n), .src = part.first->storage});
  part.first.reset();
}

void RunningSum::add(const Tile& x, std::int64_t halves, std::int64_t from) {
  const bool on_gpsimd = turn_ == 0 || (halves == 2 && added_++ % turn_ != 0);
  Part& part = on_gpsimd ? gpsimd_ : vector_;
  const Engine engine = on_gpsimd ? Engine::gpsimd : Engine::vector;
  const std::int64_t n = halves * n_ - from;
  if (!part.sum && !part.first) {
    KILN_ASSERT(x.rows == kBlock && from == 0);
    part.first = x;
    return;
  }
  if (part.first && part.first->storage.dim(1) == n && x.rows == kBlock) {
    k_.tensor_tensor(
        {.dst = sum_of(part, n), .data1 = part.first->storage, .data2 = x.storage, .op = AluOp::add, .engine = engine});
    part.first.reset();
    return;
  }
  settle(part);
  const View sum = part_of(*part.sum, x.rows, from, n);
  k_.tensor_tensor(
      {.dst = sum, .data1 = sum, .data2 = part_of(x.storage, x.rows, from, n), .op = AluOp::add, .engine = engine});
}

Tile RunningSum::columns(std::int64_t m, const View& ones, bool follow, const View* sums) {
  settle(vector_);
  settle(gpsimd_);
  const bool alone = !vector_.sum;  // gpsimd
  const Part& all = alone ? gpsimd_ : vector_;
  const View sum = *all.sum;
  const std::int64_t columns = all.columns;
  if (gpsimd_.sum && !alone) k_.tensor_tensor({.dst = sum, .data1 = sum, .data2 = *gpsimd_.sum, .op = AluOp::add});
  const View once = k_.sbuf({kBlock, n_}, ones.dtype());
  if (columns > n_)
    k_.tensor_tensor({.dst = once,
                      .data1 = part_of(sum, kBlock, 0, n_),
                      .data2 = part_of(sum, kBlock, n_, n_),
                      .op = AluOp::add,
                      .engine = alone ? Engine::gpsimd : Engine::unknown});
  else
    k_.tensor_copy({.dst = once, .src = sum});
  const View out = sums ? *sums : k_.psum({m, n_ / m}, DType::float32);
  for (std::int64_t b = 0; b < n_ / m; ++b)
    k_.nc_matmul({.dst = part_of(out, m, b, 1),
                  .stationary = once.ap({{n_, kBlock}, {follow ? n_ / m : 1, m}}, follow ? b : b * m),
                  .moving = ones});
  return {out, 0, {0, 1}, {{1, n_ / m}}, m};
}

}  // namespace kiln::tensor
