// Rows that are computed in pairs, with norms alike: errors of a pair are relative to its larger row, and those of a
// small one beside it would be errors of the other.
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
  static constexpr int kZero = -100000;  // instead of the exponent of a row of zeros

  kernels::TransformConfig config_;
  const float* x_;
  std::vector<int> exponents_;
  std::vector<float> scaled_;
};

}  // namespace kiln::fft
