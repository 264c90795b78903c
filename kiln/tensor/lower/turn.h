// Transposes on the tensor engine: blocks of 128 x 128, as many as fit a bank of PSUM emptied at once. What moves
// single elements by DMA is the slowest thing on the chip.
#pragma once

#include <functional>

#include "kiln/tensor/lower/tile.h"

namespace kiln::tensor {

inline constexpr std::int64_t kBlock = 128;  // rows that a matmul sums over, and columns of what it holds

struct Turner {
  isa::Kernel& k;
  const Arch& arch;
  std::function<Engine()> evacuator;  // who empties PSUM
  std::int64_t by_dma = 0;            // of 16 blocks of a tile, where elements have 16 bits
  bool as_bits = false;  // halves of elements as integers: for wide integers, and for a tensor engine that multiplies
                         // what may be no number

  // Blocks of 128 columns of src, whose free dimension is one: dst has a row per column, block after block.
  void tile(const Tile& dst, const Tile& src, std::int64_t columns) const;
  // The same with columns j, j + blocks, j + 2 blocks, ... in block j, as many as dst has rows.
  void strided(const Tile& dst, const Tile& src, std::int64_t blocks) const;
  // Columns that lie in HBM as rows of K elements, one `stride` apart: dst is (K in blocks of 128, columns).
  // Blocks are `width` apart, unless it is 0, when they follow each other.
  void from_hbm(const Tile& dst, const isa::View& hbm, const isa::Index& at, std::int64_t K, std::int64_t stride,
                std::int64_t columns, std::int64_t width = 0) const;
  // One block: dst, from room(), has a row per column of data.
  void block(const isa::View& dst, const isa::View& data) const;
  isa::View room(const isa::Shape& shape, DType dtype) const;
  // Who takes what is turned: a copy of wide integers is exact on the vector engine alone.
  Engine taker(DType dtype) const;
  static bool takes(DType dtype) { return is_float(dtype) && size_bytes(dtype) >= 2; }
  // What is turned where it would else move element by element: integers too, those of 8 bits as bfloat16.
  static bool turns(DType dtype) { return takes(dtype) || is_integer(dtype) || dtype == DType::bool_; }
  static DType held_as(DType dtype) { return dtype == DType::bool_ ? DType::uint8 : dtype; }
  static DType turned_as(DType dtype) { return size_bytes(dtype) == 1 ? DType::bfloat16 : dtype; }
};

// Calls body(b, rows) for each block of K: a loop over the whole ones, then what remains.
void over_blocks(isa::Kernel& k, std::int64_t K, const std::function<void(isa::Index, std::int64_t)>& body);

// A tile of 128 rows, blocks of K side by side: column j of block b is at b * width + j.
isa::View block(const Tile& t, isa::Index b, isa::Index column, std::int64_t rows, std::int64_t columns,
                std::int64_t width);

}  // namespace kiln::tensor
