// What errors results are expected to have, and which rows are too inexact for 1e-6 of their largest number: those
// whose numbers are all about as large as the largest one, and those that are sums of the same number again and again,
// which the tensor engine rounds the same way each time.
#pragma once

#include <vector>

#include "kernels/fft/way.h"

namespace kiln::fft {

// The longest rows that are looked at, and what is promised for them.
inline constexpr std::int64_t kLongestExact = 1 << 16;
inline constexpr double kMostError = 1e-6;

// The root mean square of errors, relative to that of the results, that a way is seen to have with random rows; for
// Precision::native and bf16x6.
double expected_error(const kernels::TransformConfig& config, const kernels::Way& way);

// Numbers of a row: the largest |number|, the mean of squares, and the same mean where each number counts as much as
// its square. Errors are seen where a row has its large numbers.
struct Size {
  double largest = 0, square = 0, weighed = 0;
};
Size size_of(const float* numbers, std::int64_t count, std::int64_t parts);

// Whether the largest error of results of that size is likely to be near what is promised. `real` are single numbers,
// whose errors have no second part that could be the larger one.
bool is_inexact(const Size& size, double expected, std::int64_t count, bool real);

// Errors of rows that are not random, times those of random ones, as they were seen; those of chirps with finer sums,
// the largest ones with a little noise: a number that comes first is so large that all others are rounded to its size.
inline constexpr double kNotRandom = 3, kChirp = 2.6;
// Whether a row of x has numbers beside which most others are small.
bool comes_of_peak(const kernels::TransformConfig& config, const float* row);

// Whether results are looked at, and the sizes of all rows of them.
bool are_looked_at(const kernels::TransformConfig& config);
std::vector<Size> sizes_of(const kernels::TransformConfig& config, const float* y);
// Whether all numbers of the rows are finite.
bool are_finite(const std::vector<Size>& sizes);

// Rows of y, results of the rows of x, that are to be computed again. Rows of a pair share their errors.
std::vector<std::int64_t> inexact_rows(const kernels::TransformConfig& config, const kernels::Way& way, const float* x,
                                       const float* y, const std::vector<Size>& sizes);

// Rows of a library's transform in float32, by a convolution or by other long sums, whose errors may be near the same:
// they are as large as all results together, and larger where x has few large numbers. `parts`: floats of each of
// `count` numbers.
struct Rows {
  const float* data;
  std::int64_t count, parts;
};
std::vector<std::int64_t> inexact_by_long_sums(std::int64_t rows, const Rows& x, const Rows& y);

}  // namespace kiln::fft
