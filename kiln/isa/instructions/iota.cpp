#include <algorithm>

#include "kiln/isa/instructions/shared/affine_pattern.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::iota {
namespace {
using namespace args::iota;

constexpr Rule kPatternPairs{1, words::kPatternPairs};
constexpr Rule kPatternCount{2, words::kPatternCount};
constexpr Rule kInt32{3, words::kPatternInt32};

constexpr Rule kRules[] = {kPatternPairs, kPatternCount, kInt32};

void check(Check& c) {
  check_pattern(c, pattern, dst, kPatternPairs, kPatternCount);
  check_int32(c, pattern, channel_multiplier, offset, kInt32);
}

void run(Run& r) {
  const Tile& d = r.tile(dst);
  const std::vector<std::uint32_t> free = free_part(r.integers(pattern));
  // Exact and saturating into integers, one rounding to float32 otherwise.
  const bool exact = is_integer(d.dtype);
  const std::int64_t low = exact ? to_int(d.dtype, from_int(d.dtype, INT64_MIN)) : 0;
  const std::int64_t high = exact ? to_int(d.dtype, from_int(d.dtype, INT64_MAX)) : 0;
  float values[kChunk];
  std::uint32_t bits[kChunk];
  for (std::int64_t row = 0; row < d.rows; ++row) {
    const std::uint32_t base = row_part(r.integer_or_register(offset), row, r.integer(channel_multiplier));
    for (std::int64_t first = 0; first < d.free_size; first += kChunk) {
      const std::size_t n = std::min<std::size_t>(kChunk, d.free_size - first);
      const auto value = [&](std::size_t i) { return static_cast<std::int32_t>(base + free[first + i]); };
      if (exact) {
        for (std::size_t i = 0; i < n; ++i)
          bits[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(value(i), low, high));
        store_row_bits(r, d, row, first, n, bits);
      } else {
        for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(value(i));
        store_row(r, d, row, first, n, values);
      }
    }
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(dst)))}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "a[p, w, z, y, x] = offset + p * channel_multiplier + w * sw + z * sz + y * sy + x * sx in int32, which wraps; "
        "p counts from 0 at dst's first partition. dst[p, flat(w, z, y, x)] = cvt(a): exact and saturating into "
        "integers, through float32 into floats.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "150 + N",
};

}  // namespace kiln::isa::instruction::iota
