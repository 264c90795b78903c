// KnownTable: what a caller knows of an array of float32 that stays as it is, as tables of roots do: where its columns
// have zeros, and which of them have the numbers of another one. Products with parts of it need not look for zeros, and
// compute one of two columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln {

struct KnownTable {
  struct Column {
    std::int32_t twin = 0;             // the one with the same numbers stands so many columns further; 0: there is none
    bool negated = false;              // it has them with the other sign; a zero has none
    std::uint32_t begin = 0, end = 0;  // rows from the first to the last number that is not zero
  };
  const std::uint64_t id;  // no other table has had it
  const float* data;       // [rows, columns], without gaps
  std::size_t rows, columns;
  std::vector<Column> of_columns;
  // Bits of magnitudes: the largest one, and one less than the smallest that is not zero.
  std::uint32_t largest = 0, before_least = ~0u;

  // Looks at the array. While the object lives, products of all threads know of it, and nobody writes there.
  KnownTable(const float* data, std::size_t rows, std::size_t columns);
  ~KnownTable();
  KnownTable(const KnownTable&) = delete;
  KnownTable& operator=(const KnownTable&) = delete;

  // The one that an address lies in; null: none is known there. Who asks is part of what its owner waits for.
  static const KnownTable* at(const void* address);

 private:
  void find_ranges();
  void find_twins();
};

}  // namespace kiln
