// Sums over numbers of a row, by the vectors that the processor has: the same bits with any of them.
#pragma once

#include <cstdint>

namespace kiln::fft {

// Of |number| squared: the sum, that of its squares, and the largest one, in float32 within pieces of the row.
struct RowSums {
  double squares = 0, fourths = 0;
  float largest = 0;
};
// Numbers are real, or pairs of `parts` 2.
RowSums row_sums(const float* numbers, std::int64_t count, std::int64_t parts);

}  // namespace kiln::fft
