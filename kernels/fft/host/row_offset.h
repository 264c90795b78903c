// Rows with an offset: the tensor engine adds the products of a column one after the other, so sums of equal numbers
// are rounded the same way each time, and small numbers that join a large one are rounded to its size. Of a row whose
// mean is most of it, the mean is transformed apart: it is one number of the results. So is a first number beside which
// the others are small, which is in all results.
#pragma once

#include <optional>
#include <vector>

#include "kernels/fft/way.h"

namespace kiln::fft {

class RowOffset {
 public:
  // Looks at some numbers of each row.
  RowOffset(const kernels::TransformConfig& config, const float* x);
  // x, or a copy without what is transformed apart.
  const float* x() const { return without_.empty() ? x_ : without_.data(); }
  // Adds what was transformed apart to the results of x().
  void add_to(float* y) const;

 private:
  struct Apart {
    std::int64_t row;
    bool is_mean;  // or the first number
    float re, im;
  };
  std::optional<Apart> found_in(std::int64_t row) const;
  void take(const Apart& a);

  kernels::TransformConfig config_;
  const float* x_;
  std::vector<Apart> apart_;
  std::vector<float> without_;
};

}  // namespace kiln::fft
