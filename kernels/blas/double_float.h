// DoubleFloat: arithmetic on tiles of numbers that are sums of two float32 numbers (double_loops.h), on the vector
// engine. Results are right to 2^-44 of the larger operand (sum) or of themselves (all others), as long as
// nothing leaves the range of float32.
#pragma once

#include "kernels/blas/double_loops.h"

namespace kiln::kernels {

class DoubleFloat {
 public:
  // For tiles of up to [rows, columns]; what it needs beside the results is held once for all calls.
  DoubleFloat(isa::Kernel& k, std::int64_t rows, std::int64_t columns);

  DoubleView sum(const DoubleView& x, const DoubleView& y);
  DoubleView difference(const DoubleView& x, const DoubleView& y);
  DoubleView product(const DoubleView& x, const DoubleView& y);
  DoubleView reciprocal(const DoubleView& x);
  // Of numbers above 0.
  DoubleView square_root(const DoubleView& x);
  DoubleView larger(const DoubleView& x, const DoubleView& y);
  DoubleView not_negative(const DoubleView& x);
  // x times a power of two, or times one for each element (0 is one too).
  DoubleView scaled(const DoubleView& x, double power);
  DoubleView times_each(const DoubleView& x, const isa::View& powers);
  // A column [rows, 1] as a tile of `columns` equal ones.
  DoubleView spread(const DoubleView& column, std::int64_t columns);

 private:
  isa::View scratch(std::size_t i, const isa::View& like) const;
  DoubleView fresh(const isa::View& like);
  void apply(const isa::View& to, const isa::View& x, const isa::View& y, AluOp op);
  void times(const isa::View& to, const isa::View& x, double factor);
  void two_sum(const DoubleView& to, const isa::View& x, const isa::View& y);
  void normalise(const DoubleView& to, const isa::View& high, const isa::View& low);
  void halve(const isa::View& upper, const isa::View& lower, const isa::View& x);

  isa::Kernel& k_;
  std::vector<isa::View> scratch_;
};

}  // namespace kiln::kernels
