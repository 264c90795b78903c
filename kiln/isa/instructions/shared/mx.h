// Microscaling: where the scales of a packed tile lie, for nc_matmul_mx and quantize_mx. One scale serves a
// column of packed elements over 8 partitions; the 4 scales of a quadrant of 32 partitions lie in 4
// neighbouring rows of it.
#pragma once

#include "kiln/isa/semantics/check.h"

namespace kiln::isa {

inline constexpr std::int64_t kQuadrant = kQuadrantPartitions;
inline constexpr std::int64_t kScaleRows = 8;  // partitions that share a scale

// The row of the scale view for data partition k. The view begins at the first scale.
constexpr std::int64_t scale_row(std::int64_t k) { return kQuadrant * (k / kQuadrant) + k % kQuadrant / kScaleRows; }

// Rows that a scale view needs for data of this many partitions.
constexpr std::int64_t scale_rows_for(std::int64_t partitions) { return scale_row(partitions - 1) + 1; }

inline DType element_dtype(DType packed) {
  return packed == DType::float8_e5m2_x4 ? DType::float8_e5m2 : DType::float8_e4m3fn;
}

// The first partition of an operand, as far as it is known: its tensor's address and its slice.
inline std::int64_t first_partition(const InstView& v, int param) {
  const auto& address = v.tensor(param).address;
  return (address ? address->partition : 0) + v.access(param).partition.constant;
}

// Scales start 0, 4, 8 or 12 rows into a quadrant.
inline bool is_scale_start(std::int64_t partition) { return partition % 4 == 0 && partition % kQuadrant <= 12; }

}  // namespace kiln::isa
