// Steps on rows of numbers, element by element: blocks of them with all partitions in use, however few the rows are.
#pragma once

#include <functional>

#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

// Numbers from `first` on of `rows` rows, each cut into pieces of `width` that lie on partitions of their own.
struct RowBlock {
  isa::Index row = 0;
  std::int64_t rows = 1;
  isa::Index first = 0;
  std::int64_t pieces = 1, width = 1;

  std::int64_t partitions() const { return rows * pieces; }
  // Where the block lies in v [rows, numbers], whose numbers have `size` parts: [rows, pieces, size * width].
  isa::View places(const isa::View& v, std::int64_t size) const { return places(v, size, row, 1, first); }
  // The same for every `step`-th row from `from` on and for other numbers, in pieces that follow each other or go back.
  // A step of 0 is a row for all.
  isa::View places(const isa::View& v, std::int64_t size, const isa::Index& from, std::int64_t step,
                   const isa::Index& number, bool back = false) const;
};

// All blocks of `count` numbers from `first` on of each of `rows` rows, at most `width` of them on a partition.
void row_blocks(isa::Kernel& k, std::int64_t rows, std::int64_t first, std::int64_t count, std::int64_t width,
                const std::function<void(const RowBlock&)>& body);

}  // namespace kiln::kernels
