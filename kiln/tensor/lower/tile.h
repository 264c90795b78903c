// Tile: a value, or a piece of one, on the chip. Rows lie on partitions; the free dimensions are an access function
// into the tile's storage, one entry per dimension of the value, rows of it standing as an extent of 1. Rows that
// follow each other on one partition (Layout::packed) are one more dimension in front, kept apart.
#pragma once

#include "kiln/isa/builder/builder.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {

struct Tile {
  isa::View storage;
  isa::Index offset = 0;
  isa::Dim packed{0, 1};
  Dims dims;
  std::int64_t rows = 0;

  DType dtype() const { return storage.dtype(); }
  bool in_psum() const { return storage.memory() == Memory::psum; }
  std::int64_t count() const;  // elements of a row
  bool is_column() const { return count() == 1 && packed.count == 1; }
};

// The free dimensions of a value on the chip.
struct Free {
  std::int64_t packed = 1;
  Shape dims;
  std::int64_t count() const { return packed * product(dims); }
};

// A fresh tile whose free dimensions are contiguous.
Tile new_tile(isa::Kernel& k, Memory memory, std::int64_t rows, const Free& free, DType dtype);

// The view of a tile through a pattern of free dimensions.
isa::View view_of(const Tile& tile, const Dims& dims, const isa::Index& more = 0);
// Of a tile with one element per row.
isa::View column_of(const Tile& tile);

// The dimensions of a tile, packed rows first, as those of a shape that it broadcasts to.
Dims spread_dims(const Tile& tile, const Free& free);

// Calls body(views) with a view of each tile over the dimensions that they broadcast to, as few as they allow. What has
// more than an operand takes becomes a loop.
void over(isa::Kernel& k, const std::vector<Tile>& tiles, const Free& free,
          const std::function<void(const std::vector<isa::View>&)>& body);

}  // namespace kiln::tensor
