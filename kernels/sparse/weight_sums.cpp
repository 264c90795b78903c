#include "kernels/sparse/weight_sums.h"

#include <algorithm>

namespace kiln::kernels {
using namespace isa;

View WeightSums::sum_of(Part& part) {
  if (part.sum.rank() == 0) part.sum = k_.sbuf({kTile, 2, kWide}, DType::float32);
  return part.sum;
}

void WeightSums::add(const KeyChunk& chunk, const View& weights) {
  Part& part = parts_[added_++ % 3 == 0 ? 0 : 1];  // the vector engine has other things to do
  if (chunk.is_pair() && chunk.keys == kTile) {
    add_pair(part, weights);
    return;
  }
  settle(part);
  for (const KeyRun& run : chunk.runs) add_run(part, run, weights(all, ds(run.at, run.size)));
}

void WeightSums::add_pair(Part& part, const View& weights) {
  const bool is_begun = std::find(part.begun.begin(), part.begun.end(), true) != part.begun.end();
  if (!is_begun && !part.first) {
    part.first = weights;
    return;
  }
  const View sum = sum_of(part), pair = weights.reshape_dim(1, {2, kWide});
  if (part.first) {
    k_.tensor_tensor({.dst = sum,
                      .data1 = part.first->reshape_dim(1, {2, kWide}),
                      .data2 = pair,
                      .op = AluOp::add,
                      .engine = part.engine});
    part.first.reset();
    part.begun.assign(part.begun.size(), true);
    return;
  }
  for (std::int64_t t = 0; t < 2 * kWide / kTile; ++t) begin(part, t);
  k_.tensor_tensor({.dst = sum, .data1 = sum, .data2 = pair, .op = AluOp::add, .engine = part.engine});
}

// What came first becomes the sum so far.
void WeightSums::settle(Part& part) {
  if (!part.first) return;
  k_.tensor_copy({.dst = sum_of(part), .src = part.first->reshape_dim(1, {2, kWide}), .engine = part.engine});
  part.first.reset();
  part.begun.assign(part.begun.size(), true);
}

// Something can be added to a tile of both halves.
void WeightSums::begin(Part& part, std::int64_t tile) {
  if (part.begun[tile]) return;
  const View sum = sum_of(part).flatten_dims(1, 2);
  k_.memset({.dst = sum(all, ds(tile * kTile, kTile)), .value = 0.0, .engine = part.engine});
  part.begun[tile] = true;
}

void WeightSums::add_run(Part& part, const KeyRun& run, const View& weights) {
  const View sum = sum_of(part).flatten_dims(1, 2);
  for (std::int64_t t = 0; t < run.tiles;) {
    std::int64_t end = t + 1;
    const auto is_begun = [&](std::int64_t i) { return part.begun[run.first + i]; };
    while (end < run.tiles && is_begun(end) == is_begun(t)) ++end;
    const std::int64_t size = std::min(run.size, end * kTile) - t * kTile;
    const View to = sum(ds(0, weights.dim(0)), ds((run.first + t) * kTile, size)),
               more = weights(all, ds(t * kTile, size));
    if (!is_begun(t) && weights.dim(0) < kTile) {
      for (std::int64_t i = t; i < end; ++i) begin(part, run.first + i);
    }
    if (is_begun(t)) {
      k_.tensor_tensor({.dst = to, .data1 = to, .data2 = more, .op = AluOp::add, .engine = part.engine});
    } else {
      k_.tensor_copy({.dst = to, .src = more, .engine = part.engine});
      for (std::int64_t i = t; i < end; ++i) part.begun[run.first + i] = true;
    }
    t = end;
  }
}

std::optional<View> WeightSums::folded(Part& part) {
  settle(part);
  if (part.sum.rank() == 0) return std::nullopt;
  const View first = part.sum(all, 0, ds(0, queries_)), second = part.sum(all, 1, ds(0, queries_));
  for (std::int64_t t = 0; t < tiles_of(queries_, kTile); ++t) begin(part, t);
  if (part.begun[kWide / kTile])
    k_.tensor_tensor({.dst = first, .data1 = first, .data2 = second, .op = AluOp::add, .engine = part.engine});
  return first;
}

View WeightSums::totals(const View& ones) {
  const auto by_vector = folded(parts_[0]), by_gpsimd = folded(parts_[1]);
  const View once = k_.sbuf({kTile, queries_}, ones.dtype());
  if (by_gpsimd)
    k_.tensor_tensor(
        {.dst = once, .data1 = *by_vector, .data2 = *by_gpsimd, .op = AluOp::add, .engine = Engine::gpsimd});
  else
    k_.tensor_copy({.dst = once, .src = *by_vector});
  const std::int64_t tiles = tiles_of(queries_, kTile);
  const View out = k_.psum({kTile, tiles}, DType::float32);
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t m = std::min(kTile, queries_ - t * kTile);
    k_.nc_matmul({.dst = out(ds(0, m), ds(t, 1)), .stationary = once(all, ds(t * kTile, m)), .moving = ones});
  }
  return out;
}

}  // namespace kiln::kernels
