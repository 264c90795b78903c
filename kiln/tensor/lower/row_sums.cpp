// Sums over all rows of a region, along the way: the tensor engine multiplies ones with each block of rows and adds up
// in PSUM, in which the sums stay until the last block.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

namespace {
constexpr std::int64_t kSumColumns = 512;  // of a product in float32
}

void RegionEmitter::find_row_sums() {
  for (Value p : fusion_.regions[region_].sums) {
    RowSum s{.sum = p, .of = graph_.op(p).operands[1]};
    while (graph_.op(s.of).code == OpCode::reshape) s.of = graph_.op(s.of).operands[0];
    if (fusion_.region_of[s.of] != region_) {
      for (Value u : fusion_.regions[region_].ops) {
        const auto& operands = graph_.op(u).operands;
        const auto found = std::find(operands.begin(), operands.end(), s.of);
        if (found == operands.end() || graph_.op(u).type.shape != graph_.type(s.of).shape) continue;
        s.reader = u;
        s.at = static_cast<std::size_t>(found - operands.begin());
        break;
      }
    }
    const Free one{1, {1}};
    s.ones = new_tile(k_, Memory::sbuf, rows_, one, graph_.type(s.of).dtype);
    fill(s.ones, one, 1);
    s.total = new_tile(k_, Memory::psum, 1, {1, {graph_.type(p).size()}}, DType::float32);
    row_sums_.push_back(s);
  }
}

// The block of rows that is worked on.
void RegionEmitter::add_rows() {
  for (const RowSum& s : row_sums_) {
    const std::int64_t columns = s.total.dims[0].count, packed = layout_.packed;
    Tile t = fusion_.region_of[s.of] == region_ ? value(s.of) : operand(s.reader, s.at);
    const bool plain = t.dtype() == s.ones.dtype() && Strided{0, t.dims}.is_contiguous() && t.count() == columns;
    if (!plain) {
      const Shape& shape = graph_.type(s.of).shape;
      const Free free = free_of(shape, *row_dims(shape, rows_of_region_));
      const Tile out = new_tile(k_, Memory::sbuf, rows_, free, s.ones.dtype());
      copy(out, t, free);
      t = out;
    }
    Tile ones = s.ones;
    ones.rows = rows_;
    for (std::int64_t j = 0; j < packed; ++j) {
      for (std::int64_t c = 0; c < columns; c += kSumColumns) {
        const std::int64_t n = std::min(kSumColumns, columns - c);
        k_.nc_matmul({.dst = view_of(s.total, {{1, n}}, c),
                      .stationary = column_of(ones),
                      .moving = view_of(t, {{1, n}}, j * t.packed.stride + c)});
      }
    }
  }
}

void RegionEmitter::store_row_sums() {
  for (const RowSum& s : row_sums_) {
    const std::int64_t columns = s.total.dims[0].count;
    k_.at(k_.program().add_loc(graph_.loc(graph_.op(s.sum))));
    const Tile out = new_tile(k_, Memory::sbuf, 1, {1, {columns}}, graph_.type(s.sum).dtype);
    k_.tensor_copy({.dst = view_of(out, {{1, columns}}), .src = view_of(s.total, {{1, columns}})});
    k_.dma_copy({.dst = storage_.of.at(s.sum).ap({{columns, 1}, {1, columns}}, storage_.begin(s.sum)),
                 .src = view_of(out, {{1, columns}})});
  }
}

}  // namespace kiln::tensor
