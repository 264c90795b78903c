// Lines: ops along the last axis that have each line on one partition. What bounds them.
#pragma once

#include "kiln/tensor/ir/op.h"

namespace kiln::tensor {

inline constexpr std::int64_t kLongestSort = 4096;  // elements that are sorted on one partition

// Whether n elements of a line and m indices, with what is made of them, lie on one partition.
inline bool fits_line(std::int64_t n, std::int64_t m) { return n + 3 * m <= 24576; }

inline bool is_line_op(OpCode code) {
  return code == OpCode::take_along_axis || code == OpCode::put_along_axis || code == OpCode::argsort ||
         code == OpCode::top_k_indices;
}

// The largest few of a line are found eight at a time; more of them by sorting.
inline bool finds_largest(std::int64_t n, std::int64_t k) { return n <= 16384 && k <= 64 && k > 0; }

}  // namespace kiln::tensor
