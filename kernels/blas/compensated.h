// CompensatedSum: sums of float32 tiles that carry what rounding lost (two-sum), on the vector engine.
#pragma once

#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

class CompensatedSum {
 public:
  // One sum per element of [rows, columns], all zero.
  CompensatedSum(isa::Kernel& k, std::int64_t rows, std::int64_t columns);

  // Adds a tile of [rows, n], n <= columns, to the first n columns.
  void add(const isa::View& x);
  // Adds everything up and writes the total to `to` [1, 2] in HBM: a sum of two numbers, the larger first.
  void store_total(const isa::View& to);

 private:
  // hi, lo = hi + x, lo + what that lost
  void add(const isa::View& hi, const isa::View& lo, const isa::View& x);
  void fold(isa::View& hi, isa::View& lo);
  isa::View turned(const isa::View& column);

  isa::Kernel& k_;
  isa::View hi_, lo_;
};

}  // namespace kiln::kernels
