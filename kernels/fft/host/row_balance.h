// Rows that are computed in pairs: errors of a pair are relative to the numbers of both, and would be too large for a
// row whose own are small. Rows of a pair begin with norms alike, which is enough for most. Results tell where it is
// not: beside a tone, whose spectrum is one large number, or where all results are about as large as the largest one.
// Such rows are computed again, each beside zeros, and are as exact as complex ones.
#pragma once

#include <vector>

#include "kernels/fft/way.h"

namespace kiln::fft {

class RowBalance {
 public:
  RowBalance(const kernels::TransformConfig& config, const float* x);
  // x, or a copy whose rows are scaled by powers of two where two of a pair differ.
  const float* x() const { return scaled_.empty() ? x_ : scaled_.data(); }

  // Looks at the results of x(): whether there are pairs whose rows are to be computed alone.
  bool finds_lopsided(const float* y);
  // x() without the other rows of these pairs; `which` is 0 or 1.
  std::vector<float> x_alone(int which) const;
  // Takes the rows `which` of these pairs from the results of that.
  void take_alone(int which, const float* from, float* y) const;

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
  std::vector<std::int64_t> lopsided_;  // first rows of pairs
};

}  // namespace kiln::fft
