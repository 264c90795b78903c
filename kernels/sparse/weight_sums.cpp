#include "kernels/sparse/weight_sums.h"

#include <algorithm>

#include "kernels/sparse/attention_parts.h"

namespace kiln::kernels {
using namespace isa;

View WeightSums::sum_of(Part& part) {
  if (part.sum.rank() == 0) part.sum = k_.sbuf({kTile, queries_}, DType::float32);
  return part.sum;
}

void WeightSums::add(const KeyRun& run, const View& weights, bool is_late) {
  const bool is_its_turn = added_ % turns_ == 0;
  ++added_;
  add_run(parts_[is_its_turn && !(is_late && added_ > turns_) ? 0 : 1], run, weights);
}

void WeightSums::add_run(Part& part, const KeyRun& run, const View& weights) {
  const bool is_new = !part.first && std::find(part.begun.begin(), part.begun.end(), true) == part.begun.end();
  const bool is_whole = weights.dim(0) == kTile && run.size == queries_;
  if (is_new && is_whole) {
    part.first = weights;
  } else if (part.first && is_whole) {
    k_.tensor_tensor(
        {.dst = sum_of(part), .data1 = *part.first, .data2 = weights, .op = AluOp::add, .engine = part.engine});
    part.first.reset();
    part.begun.assign(part.begun.size(), true);
  } else {
    settle(part);
    add_to_begun(part, run, weights);
  }
}

void WeightSums::settle(Part& part) {
  if (!part.first) return;
  k_.tensor_copy({.dst = sum_of(part), .src = *part.first, .engine = part.engine});
  part.first.reset();
  part.begun.assign(part.begun.size(), true);
}

// Tiles of queries that are all new or all begun go together.
void WeightSums::add_to_begun(Part& part, const KeyRun& run, const View& weights) {
  const View sum = sum_of(part);
  for (std::int64_t t = 0; t < run.tiles;) {
    std::int64_t end = t + 1;
    const auto is_begun = [&](std::int64_t i) { return part.begun[run.first + i]; };
    while (end < run.tiles && is_begun(end) == is_begun(t)) ++end;
    const std::int64_t size = std::min(run.size, end * kTile) - t * kTile;
    const Slice queries = ds((run.first + t) * kTile, size);
    const View to = sum(ds(0, weights.dim(0)), queries), more = weights(all, ds(t * kTile, size));
    const bool fills = weights.dim(0) == kTile;
    if (!is_begun(t) && !fills) k_.memset({.dst = sum(all, queries), .value = 0.0, .engine = part.engine});
    if (is_begun(t) || !fills)
      k_.tensor_tensor({.dst = to, .data1 = to, .data2 = more, .op = AluOp::add, .engine = part.engine});
    else
      k_.tensor_copy({.dst = to, .src = more, .engine = part.engine});
    for (std::int64_t i = t; i < end; ++i) part.begun[run.first + i] = true;
    t = end;
  }
}

std::optional<View> WeightSums::total(Part& part) {
  settle(part);
  if (part.sum.rank() == 0) return std::nullopt;
  for (std::int64_t t = 0; t < tiles_of(queries_, kTile); ++t) {
    if (part.begun[t]) continue;
    const Slice queries = ds(t * kTile, std::min(kTile, queries_ - t * kTile));
    k_.memset({.dst = part.sum(all, queries), .value = 0.0, .engine = part.engine});
  }
  return part.sum;
}

View WeightSums::totals(const View& ones, bool is_interleaved) {
  const auto by_vector = total(parts_[0]), by_gpsimd = total(parts_[1]);
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
    k_.nc_matmul({.dst = out(ds(0, m), ds(t, 1)),
                  .stationary = is_interleaved ? interleaved(once, tiles).select(1, t) : once(all, ds(t * kTile, m)),
                  .moving = ones,
                  .is_moving_onezero = true});
  }
  return out;
}

}  // namespace kiln::kernels
