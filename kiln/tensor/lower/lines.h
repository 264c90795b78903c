// Lines: ops along the last axis that have each line on one partition. What bounds them.
#pragma once

#include <algorithm>

#include "kiln/tensor/ir/op.h"

namespace kiln::tensor {

inline constexpr std::int64_t kLongestSort = 4096;        // elements whose order is found on one partition
inline constexpr std::int64_t kLongestSortedLine = 8192;  // the same of values alone

// Whether n elements of a line and m indices, with what is made of them, lie on one partition.
inline bool fits_line(std::int64_t n, std::int64_t m) { return n + 3 * m <= 24576; }

inline bool is_line_op(OpCode code) {
  return code == OpCode::take_along_axis || code == OpCode::put_along_axis || code == OpCode::argsort ||
         code == OpCode::sort || code == OpCode::deal || code == OpCode::top_k_indices;
}

// The largest few of a line are found eight at a time, among so many; more of them by sorting.
inline constexpr std::int64_t kLongestSearch = 16384;
inline bool finds_few(std::int64_t n, std::int64_t k) {
  return k > 0 && (k <= 64 || k <= std::min<std::int64_t>(n, kLongestSearch / 2) / 16);
}

}  // namespace kiln::tensor
