// The affine function of the indices that iota stores and affine_select compares with zero:
//   offset + p * channel_multiplier + w * sw + z * sz + y * sy + x * sx, in 32-bit integers that wrap.
// A pattern is a list of pairs step, count, the slowest first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/isa/semantics/check.h"

namespace kiln::isa {

inline constexpr std::size_t kMaxPatternPairs = 4;

// Rule `pairs_rule`: one to four pairs with positive counts. Rule `count_rule`: the counts' product is the
// free size of `tile`.
void check_pattern(Check& c, int pattern, int tile, const Rule& pairs_rule, const Rule& count_rule);

// Rule `rule`: the steps of the pattern, channel_multiplier and an offset that is no register are int32.
void check_int32(Check& c, int pattern, int channel_multiplier, int offset, const Rule& rule);

// The part of the function that depends on the free index, for every free element in row-major order.
std::vector<std::uint32_t> free_part(std::span<const std::int64_t> pattern);

// The part that is the same for a whole row.
inline std::uint32_t row_part(std::int64_t offset, std::int64_t row, std::int64_t channel_multiplier) {
  return static_cast<std::uint32_t>(offset) +
         static_cast<std::uint32_t>(row) * static_cast<std::uint32_t>(channel_multiplier);
}

}  // namespace kiln::isa
