// Rows: whole rows of a tile, brought together or put where they belong many at a time, at most kChunk elements. What
// has no gaps stays where it is.
#pragma once

#include "kiln/isa/semantics/box.h"
#include "kiln/isa/semantics/run.h"

namespace kiln::isa {

// Whether float32 holds all of these integers, signed ones by their bits. Where a wide integer lies is told when it is
// rounded, so only those that are not leave their place.
bool stays_exact(const std::uint32_t* words, std::size_t n);

// Whether rows lie as far apart as each other, and their elements in steps: no index says where.
inline bool is_regular(const Tile& t) { return !t.row_offset && !t.column; }

// For the elements of whole rows, c.n of them, the numbers of the column `operand`: `out`, or where they lie.
const float* spread_column(const Run& r, int operand, const RowChunk& c, float* out);

// For one direction only, in which rows are moved is found out once.
class Rows {
 public:
  Rows(const Run& r, const Tile& tile)
      : r_(r), tile_(tile), size_(static_cast<int>(tile.element_bytes())), is_dense_(tile.is_dense()) {}

  // As float32: a pointer into the tile, or to `scratch`, which is filled then.
  const float* load(std::int64_t row, std::int64_t rows, float* scratch);
  void store(std::int64_t row, std::int64_t rows, const float* values);
  // As they are in memory.
  const void* load_words(std::int64_t row, std::int64_t rows, void* scratch);
  void store_words(std::int64_t row, std::int64_t rows, const void* words);
  // As raw bits, zero-extended.
  const std::uint32_t* load_bits(std::int64_t row, std::int64_t rows, std::uint32_t* scratch);
  void store_bits(std::int64_t row, std::int64_t rows, const std::uint32_t* bits);

  // Where rows may be computed in place. Null: nowhere.
  float* floats(std::int64_t row) const { return at<float>(row, tile_.dtype == DType::float32); }
  std::uint32_t* bits(std::int64_t row) const { return at<std::uint32_t>(row, size_ == 4); }

 private:
  template <class T>
  T* at(std::int64_t row, bool fits) const {
    return fits && is_dense_ ? reinterpret_cast<T*>(tile_.row(row)) : nullptr;
  }
  bool is_regular() const { return !tile_.row_offset && !tile_.column && tile_.row_bytes % size_ == 0; }
  Box& box(std::int64_t rows, bool gathers);

  const Run& r_;
  const Tile& tile_;
  const int size_;
  const bool is_dense_;
  Box box_;
  std::int64_t box_rows_ = -1;  // of the box
};

}  // namespace kiln::isa
