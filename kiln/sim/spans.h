// Spans: an operand as contiguous runs of bytes of its storage.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/sim/operand.h"
#include "kiln/sim/spaced_ranges.h"

namespace kiln::sim {

// Calls fn(first byte, step in bytes, first element, elements) for runs of equally spaced elements of an operand; a
// step as long as an element: they follow each other.
template <class Fn>
void for_spaced(const Operand& o, Fn&& fn) {
  const isa::Tile& t = o.tile;
  const std::int64_t size = t.element_bytes();
  if (t.is_dense()) {
    fn(t.data - o.storage->data, size, std::int64_t{0}, t.count());
    return;
  }
  const std::int64_t step = t.free_rank == 1 ? t.free[0].stride * size : 0;
  if (step > 0 && !t.column && !t.row_offset && t.row_bytes == step * t.free_size) {  // rows go on as their elements do
    fn(t.data - o.storage->data, step, std::int64_t{0}, t.count());
    return;
  }
  for (std::int64_t row = 0; row < t.rows; ++row) {
    if (t.row_offset && t.row_offset[row] == isa::kSkipRow) continue;
    isa::for_runs(t, row, 0, t.free_size,
                  [&](std::byte* at, std::int64_t stride, std::int64_t n, std::int64_t position) {
                    fn(at - o.storage->data, (n == 1 ? 1 : stride) * size, row * t.free_size + position, n);
                  });
  }
}

// Calls fn(first byte, bytes) for runs of rows that lie side by side, wherever their indices stand.
template <class Fn>
void for_indexed_rows(const isa::Tile& t, std::int64_t begin, Fn&& fn) {
  std::vector<std::int64_t> offsets(t.row_offset, t.row_offset + t.rows);
  std::sort(offsets.begin(), offsets.end());  // those that are skipped come first
  const std::int64_t bytes = t.free_size * t.element_bytes();
  auto at = std::upper_bound(offsets.begin(), offsets.end(), isa::kSkipRow);
  while (at != offsets.end()) {
    const std::int64_t first = *at;
    std::int64_t end = first + bytes;
    for (++at; at != offsets.end() && *at <= end; ++at) end = std::max(end, *at + bytes);
    fn(begin + first, end - first);
  }
}

// The bytes of a tile without indices: dimensions in bytes, the longest steps first, those that go on where the next
// one ends as one, and what is repeated only once. The last one has steps of 1. Moves `begin` from the first element to
// the first byte. Returns how many.
inline int byte_dims(const isa::Tile& t, std::int64_t& begin, isa::Dim* merged) {
  constexpr int kMost = isa::kMaxOperandRank + 2;
  isa::Dim dims[kMost];
  int rank = 0;
  const std::int64_t size = t.element_bytes();
  const auto add = [&](std::int64_t step, std::int64_t count) {
    if (step == 0 || count == 1) return;
    if (step < 0) begin += step * (count - 1);
    dims[rank++] = {std::abs(step), count};
  };
  add(t.row_bytes, t.rows);
  for (int d = 0; d < t.free_rank; ++d) add(t.free[d].stride * size, t.free[d].count);
  for (int i = 1; i < rank; ++i) {  // few, and mostly in order
    for (int j = i; j > 0 && dims[j].stride > dims[j - 1].stride; --j) std::swap(dims[j], dims[j - 1]);
  }
  dims[rank++] = {1, size};
  int n = isa::merge_dims(dims, rank, merged);
  if (n == 0 || merged[n - 1].stride != 1) merged[n++] = {1, 1};  // elements of one byte each, apart
  return n;
}

// Calls fn(ranges) for ranges of bytes that an operand is made of, in any order: as few as can be told from its shape.
template <class Fn>
void for_patches(const Operand& o, Fn&& fn) {
  const isa::Tile& t = o.tile;
  const std::int64_t size = t.element_bytes();
  std::int64_t begin = t.data - o.storage->data;
  if (t.row_is_contiguous() && t.row_offset && t.free_size > 0) {
    for_indexed_rows(t, begin, [&](std::int64_t first, std::int64_t bytes) { fn(SpacedRanges{first, bytes}); });
    return;
  }
  if (t.row_offset || t.column) {
    for_spaced(o, [&](std::int64_t byte, std::int64_t step, std::int64_t, std::int64_t n) {
      SpacedRanges ranges{byte, size};
      if (ranges.repeat(step, n)) return fn(ranges);
      for (std::int64_t i = 0; i < n; ++i) fn(SpacedRanges{byte + i * step, size});
    });
    return;
  }
  isa::Dim dims[isa::kMaxOperandRank + 2];
  int outer = byte_dims(t, begin, dims) - 1;  // what is not part of the ranges
  SpacedRanges ranges{begin, dims[outer].count};
  while (outer > 0 && ranges.repeat(dims[outer - 1].stride, dims[outer - 1].count)) --outer;
  std::int64_t index[isa::kMaxOperandRank + 2] = {};
  for (int d = 0; d >= 0;) {
    fn(ranges);
    for (d = outer - 1; d >= 0; --d) {
      ranges.begin += dims[d].stride;
      if (++index[d] < dims[d].count) break;
      ranges.begin -= dims[d].stride * dims[d].count;
      index[d] = 0;
    }
  }
}

// Calls fn(first byte, bytes, first element, elements) for contiguous runs of an operand, as offsets into the
// storage.
template <class Fn>
void for_spans(const Operand& o, Fn&& fn) {
  const std::int64_t size = o.tile.element_bytes();
  for_spaced(o, [&](std::int64_t byte, std::int64_t step, std::int64_t first, std::int64_t n) {
    if (step == size) return fn(byte, n * size, first, n);
    for (std::int64_t i = 0; i < n; ++i) fn(byte + i * step, size, first + i, std::int64_t{1});
  });
}

}  // namespace kiln::sim
