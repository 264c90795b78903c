// Sums over all rows of a region, along the way: the tensor engine multiplies each block of rows of one value, or ones,
// with those of another and adds up in PSUM, in which the sums stay until the last block.
#include <algorithm>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/row_sums.h"

namespace kiln::tensor {

namespace {
constexpr std::int64_t kSumColumns = 512;  // of a product in float32
}

void RegionEmitter::find_row_sums() {
  for (Value p : fusion_.regions[region_].sums) {
    RowSum s{.sum = p};
    const Free one{1, {1}};
    if (!summed_rows(graph_, p, 0)) {
      s.ones = new_tile(k_, Memory::sbuf, rows_, one, graph_.type(*summed_rows(graph_, p, 1)).dtype);
      fill(s.ones, one, 1);
    }
    const Shape& shape = graph_.type(p).shape;
    for (std::int64_t m = 0; m < shape[0]; m += kBlock)
      s.totals.push_back(new_tile(k_, Memory::psum, std::min(kBlock, shape[0] - m), {1, {shape[1]}}, DType::float32));
    row_sums_.push_back(std::move(s));
  }
}

// What a sum has of the rows that are worked on, element after element and in its own dtype.
Tile RegionEmitter::summed(Value sum, int operand_at) {
  const Value of = *summed_rows(graph_, sum, operand_at);
  const Type& t = graph_.type(of);
  Tile rows = fusion_.region_of[of] == region_ ? value(of) : operand(sum, static_cast<std::size_t>(operand_at));
  const Free free = free_of(t.shape, *row_dims(t.shape, rows_of_region_));
  const std::int64_t columns = product(free.dims);
  const bool plain =
      !rows.in_psum() && rows.dtype() == t.dtype && Strided{0, rows.dims}.is_contiguous() && rows.count() == columns;
  if (!plain) {
    const Tile out = new_tile(k_, Memory::sbuf, rows_, free, t.dtype);
    copy(out, rows, free);
    rows = out;
  }
  return rows;
}

// The block of rows that is worked on.
void RegionEmitter::add_rows() {
  for (const RowSum& s : row_sums_) {
    const Shape& shape = graph_.type(s.sum).shape;
    const bool counts = !summed_rows(graph_, s.sum, 0);
    const Tile x = counts ? Tile{} : summed(s.sum, 0), y = summed(s.sum, 1);
    Tile ones = s.ones;
    ones.rows = rows_;
    for (std::int64_t j = 0; j < layout_.packed; ++j) {
      for (std::size_t b = 0; b < s.totals.size(); ++b) {
        const std::int64_t first = static_cast<std::int64_t>(b) * kBlock, m = s.totals[b].rows;
        const isa::View held = counts ? column_of(ones) : view_of(x, {{1, m}}, j * x.packed.stride + first);
        for (std::int64_t c = 0; c < shape[1]; c += kSumColumns) {
          const std::int64_t n = std::min(kSumColumns, shape[1] - c);
          k_.nc_matmul({.dst = view_of(s.totals[b], {{1, n}}, c),
                        .stationary = held,
                        .moving = view_of(y, {{1, n}}, j * y.packed.stride + c)});
        }
      }
    }
    scopes_.back().consumed.insert(s.sum);  // what it has read may be written over
  }
}

void RegionEmitter::store_row_sums() {
  for (const RowSum& s : row_sums_) {
    const std::int64_t columns = graph_.type(s.sum).shape[1];
    k_.at(k_.program().add_loc(graph_.loc(graph_.op(s.sum))));
    for (std::size_t b = 0; b < s.totals.size(); ++b) {
      const std::int64_t rows = s.totals[b].rows, first = static_cast<std::int64_t>(b) * kBlock;
      const Tile out = new_tile(k_, Memory::sbuf, rows, {1, {columns}}, graph_.type(s.sum).dtype);
      k_.tensor_copy({.dst = view_of(out, {{1, columns}}), .src = view_of(s.totals[b], {{1, columns}})});
      k_.dma_copy(
          {.dst = storage_.of.at(s.sum).ap({{columns, rows}, {1, columns}}, storage_.begin(s.sum) + first * columns),
           .src = view_of(out, {{1, columns}})});
    }
  }
}

}  // namespace kiln::tensor
