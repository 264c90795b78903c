// Tile: an access with its address known. Rows are partitions on chip; in HBM they are the leading dimension.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kiln/base/dtype.h"
#include "kiln/isa/program.h"

namespace kiln::isa {

inline constexpr std::int64_t kSkipRow = INT64_MIN;

// Trivial on purpose: the resolver fills every field, and instructions are issued by the million.
struct Tile {
  std::byte* data;  // row 0, free element 0
  DType dtype;
  std::uint8_t free_rank;  // merged free dims: a contiguous row has one
  std::int64_t rows;
  std::int64_t row_bytes;          // distance between rows
  std::int64_t free_size;          // elements per row
  Dim free[kMaxOperandRank];       // strides in elements
  const std::int64_t* row_offset;  // vector offset: byte offset of row w from `data`, or kSkipRow
  const std::int32_t* column;      // indirect: element offset of free element i in group g of rows,
  std::int32_t group_rows;         //   column[g * free_size + i], g = row / group_rows
  std::int32_t lane;               // on chip: the partition of row 0

  std::int64_t element_bytes() const { return size_bytes(dtype); }
  std::byte* row(std::int64_t r) const { return data + (row_offset ? row_offset[r] : r * row_bytes); }
  bool row_is_contiguous() const { return !column && (free_rank == 0 || (free_rank == 1 && free[0].stride == 1)); }
  // All elements follow each other without a gap.
  bool is_dense() const {
    return row_is_contiguous() && !row_offset && (rows == 1 || row_bytes == free_size * element_bytes());
  }
  std::int64_t count() const { return rows * free_size; }
};

// A dense tile as one long row: same elements, same order.
inline void flatten(Tile& t) {
  t.free_size *= t.rows;
  t.rows = 1;
  t.free_rank = 1;
  t.free[0] = {1, t.free_size};
}

// Calls fn(address, stride in elements, count, position) for runs of equally spaced elements that cover free
// elements first … first + n of row r. `position` counts from 0.
template <class Fn>
void for_runs(const Tile& t, std::int64_t r, std::int64_t first, std::int64_t n, Fn&& fn) {
  std::byte* base = t.row(r);
  const std::int64_t size = t.element_bytes();
  if (t.column) {
    const std::int32_t* column = t.column + (r / t.group_rows) * t.free_size + first;
    for (std::int64_t i = 0; i < n; ++i) fn(base + column[i] * size, std::int64_t{1}, std::int64_t{1}, i);
    return;
  }
  if (t.free_rank <= 1) {
    const std::int64_t stride = t.free_rank ? t.free[0].stride : 1;
    fn(base + first * stride * size, stride, n, std::int64_t{0});
    return;
  }
  const Dim inner = t.free[t.free_rank - 1];
  for (std::int64_t done = 0; done < n;) {
    std::int64_t index = first + done;
    const std::int64_t in_run = index % inner.count;
    index /= inner.count;
    std::int64_t offset = in_run * inner.stride;
    for (int d = t.free_rank - 2; d >= 0; --d) {
      offset += index % t.free[d].count * t.free[d].stride;
      index /= t.free[d].count;
    }
    const std::int64_t count = std::min(inner.count - in_run, n - done);
    fn(base + offset * size, inner.stride, count, done);
    done += count;
  }
}

}  // namespace kiln::isa
