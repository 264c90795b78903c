// Products of many very short rows: rows that follow each other on a partition are turned together, above each other,
// and meet copies of the matrix that lie above each other too, each in its own tile of the tensor engine. A copy is
// held while 512 columns come by; results are turned back together.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {
constexpr std::int64_t kHalf = 64, kQuarter = 32;  // sides of tiles of the tensor engine
}

// How many copies of a matrix lie above each other; 1: it lies as usual.
std::int64_t RegionEmitter::copies_above(int index) const {
  const Leaf& leaf = layout_.loads[index];
  const std::int64_t K = leaf.free[0].count, N = leaf.free[1].count;
  const bool fits = K == kHalf || (K == kQuarter && arch_.features.row_tile_32);
  if (!fits || N > K || leaf.free[1].stride != 1 || kept(leaf) || !arch_.features.tensor_transpose_mode) return 1;
  if (size_bytes(graph_.type(leaf.value).dtype) < 2) return 1;  // which are turned in another dtype
  return layout_.packed >= kBlock / K ? kBlock / K : 1;
}

// (copies of K rows above each other, K columns), of which those beyond the matrix are zeros.
Tile RegionEmitter::load_above(int index, std::int64_t copies) {
  const Leaf& leaf = layout_.loads[index];
  const std::int64_t K = leaf.free[0].count, N = leaf.free[1].count;
  const Tile out = new_tile(k_, Memory::sbuf, kBlock, {1, {K}}, graph_.type(leaf.value).dtype);
  if (N < K) k_.memset({.dst = out.storage, .value = 0.0});
  Index at = storage_.begin(leaf.base) + leaf.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  for (std::int64_t i = 0; i < copies; ++i)
    k_.dma_copy({.dst = out.storage.ap({{K, K}, {1, N}}, i * K * K),
                 .src = storage_.of.at(leaf.base).ap({{leaf.free[0].stride, K}, {1, N}}, at)});
  return out;
}

// x: (packed rows, K), one after the other. As many of them as there are copies of y go together; returns how many rows
// that are in all.
std::int64_t RegionEmitter::multiply_above(const Tile& dst, const Tile& x, const Tile& y, std::int64_t N) {
  const std::int64_t K = y.count(), copies = kBlock / K, groups = layout_.packed / copies;
  const DType t = x.dtype(), result = dst.dtype();
  const std::int64_t bank = arch_.psum_bank_bytes, wide = std::max(size_bytes(t), size_bytes(result));
  const std::int64_t most = std::min(bank / (rows_ * size_bytes(DType::float32)), bank / (kBlock * wide));
  const std::int64_t apart = dst.packed.stride, stride = dst.dims.back().stride;
  k_.tiles(groups, std::clamp<std::int64_t>(most, 1, groups), [&](Index first, std::int64_t n) {
    const std::int64_t width = n * rows_;
    const auto each = [&](const std::function<void(Index)>& body) { n == 1 ? body(0) : k_.loop(n, body); };
    const View sides = k_.psum({kBlock, width}, t), turned = k_.sbuf({kBlock, width}, t);
    each([&](Index i) {
      k_.nc_transpose({.dst = sides.ap({{width, kBlock}, {1, rows_}}, i * rows_),
                       .data = view_of(x, {{1, kBlock}}, (first + i) * kBlock)});
    });
    k_.tensor_copy({.dst = turned, .src = sides, .engine = evacuator()});
    const View sums = k_.psum({kBlock, width}, DType::float32), results = k_.sbuf({kBlock, width}, result);
    for (std::int64_t i = 0; i < copies; ++i)
      k_.nc_matmul({.dst = sums.ap({{width, K}, {1, width}}, i * K * width),
                    .stationary = y.storage.ap({{K, K}, {1, K}}, i * K * K),
                    .moving = turned.ap({{width, K}, {1, width}}, i * K * width),
                    .tile_position = {i * K, i * K},
                    .tile_size = {K, K}});
    k_.tensor_copy({.dst = results, .src = sums, .engine = evacuator()});
    const View back = k_.psum({rows_, n * kBlock}, result);
    each([&](Index i) {
      k_.nc_transpose({.dst = back.ap({{n * kBlock, rows_}, {1, kBlock}}, i * kBlock),
                       .data = results.ap({{width, kBlock}, {1, rows_}}, i * rows_)});
    });
    k_.tensor_copy({.dst = view_of(dst, {{apart, n * copies}, {stride, N}}, first * (copies * apart)),
                    .src = back.ap({{n * kBlock, rows_}, {K, n * copies}, {1, N}}),
                    .engine = evacuator()});
  });
  return groups * copies;
}

}  // namespace kiln::tensor
