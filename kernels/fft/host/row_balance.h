// Rows that are computed in pairs: errors of a pair are relative to the numbers of both, and would be too large for a
// row whose own are small. Rows of a pair begin with norms alike, which is enough for most; row_errors.h finds the
// others in the results.
#pragma once

#include <vector>

#include "kernels/fft/way.h"

namespace kiln::fft {

class RowBalance {
 public:
  RowBalance(const kernels::TransformConfig& config, const float* x);
  // x, or a copy whose rows are scaled by powers of two where two of a pair differ.
  const float* x() const { return scaled_.empty() ? x_ : scaled_.data(); }

  // Gives the results of x() the scales of its rows back; those of zeros are zeros.
  void undo(float* y) const;

 private:
  bool is_needed() const;
  void scale();
  static constexpr int kZero = -100000;  // instead of the exponent of a row of zeros

  kernels::TransformConfig config_;
  const float* x_;
  std::vector<int> exponents_;
  std::vector<float> scaled_;
};

}  // namespace kiln::fft
