#include <algorithm>

#include "kiln/isa/instructions/shared/affine_pattern.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/rows.h"
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

void store(Rows& to, std::int64_t row, std::int64_t rows, const float* values) { to.store(row, rows, values); }
void store(Rows& to, std::int64_t row, std::int64_t rows, const std::uint32_t* bits) { to.store_bits(row, rows, bits); }
void store(const Run& r, std::int64_t row, std::int64_t first, std::int64_t n, const float* values) {
  store_row(r, r.tile(dst), row, first, n, values);
}
void store(const Run& r, std::int64_t row, std::int64_t first, std::int64_t n, const std::uint32_t* bits) {
  store_row_bits(r, r.tile(dst), row, first, n, bits);
}

// The elements, each a Value made by `element` of the integer: many rows at a time, or long ones piece by piece.
template <class Value, class Fn>
void fill(const Run& r, const Fn element) {
  const Tile& d = r.tile(dst);
  const std::vector<std::uint32_t> free = free_part(r.integers(pattern));
  alignas(64) Value values[kChunk];
  const auto put = [&](std::int64_t row, std::int64_t first, std::int64_t n, Value* out) {
    const std::uint32_t base = row_part(r.integer_or_register(offset), row, r.integer(channel_multiplier));
    for (std::int64_t i = 0; i < n; ++i) out[i] = element(static_cast<std::int32_t>(base + free[first + i]));
  };
  constexpr auto kMost = static_cast<std::int64_t>(kChunk);
  const std::int64_t n = d.free_size, block = std::max<std::int64_t>(kMost / n, 1);
  Rows to(r, d);
  for (std::int64_t row = 0; row < d.rows; row += block) {
    const std::int64_t rows = std::min(block, d.rows - row);
    if (n <= kMost) {
      for (std::int64_t i = 0; i < rows; ++i) put(row + i, 0, n, values + i * n);
      store(to, row, rows, values);
      continue;
    }
    for (std::int64_t first = 0; first < n; first += kMost) {
      const std::int64_t count = std::min(kMost, n - first);
      put(row, first, count, values);
      store(r, row, first, count, values);
    }
  }
}

void run(Run& r) {
  // Exact and saturating into integers, one rounding to float32 otherwise.
  const DType to = r.tile(dst).dtype;
  if (!is_integer(to)) return fill<float>(r, [](std::int32_t x) { return static_cast<float>(x); });
  const auto limit = [&](std::int64_t most) {  // the integer has 32 bits, and so has its limit
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(to_int(to, from_int(to, most)), INT32_MIN, INT32_MAX));
  };
  const std::int32_t low = limit(INT64_MIN), high = limit(INT64_MAX);
  fill<std::uint32_t>(r, [=](std::int32_t x) { return static_cast<std::uint32_t>(std::clamp(x, low, high)); });
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
