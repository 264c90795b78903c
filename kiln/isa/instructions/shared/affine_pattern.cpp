#include "kiln/isa/instructions/shared/affine_pattern.h"

#include <fmt/format.h>

#include <string_view>

namespace kiln::isa {
namespace {

// Whether the product of the counts is `elements`; it may be too large for any integer.
bool covers(std::span<const std::int64_t> pattern, std::int64_t elements) {
  std::int64_t rest = elements;
  for (std::size_t i = 1; i < pattern.size(); i += 2) {
    if (rest % pattern[i] != 0) return false;
    rest /= pattern[i];
  }
  return rest == 1;
}

std::string text(std::span<const std::int64_t> pattern) {
  std::string out;
  for (std::size_t i = 0; i + 1 < pattern.size(); i += 2)
    out += fmt::format("{}[{}, {}]", i ? ", " : "", pattern[i], pattern[i + 1]);
  return "[" + out + "]";
}

}  // namespace

void check_pattern(Check& c, int pattern, int tile, const Rule& pairs_rule, const Rule& count_rule) {
  const auto p = c.integers(pattern);
  bool pairs = !p.empty() && p.size() % 2 == 0 && p.size() <= 2 * kMaxPatternPairs;
  for (std::size_t i = 1; i < p.size(); i += 2) pairs &= p[i] > 0;
  c.require(pairs_rule, pairs, pattern, [&] { return "pattern is " + text(p); });
  if (!pairs) return;
  c.require(count_rule, covers(p, c.free_size(tile)), [&] {
    return fmt::format("pattern is {}, {} is {}", text(p), c.row().params[tile].name, shape_text(c.access(tile)));
  });
}

void check_int32(Check& c, int pattern, int channel_multiplier, int offset, const Rule& rule) {
  const auto require = [&](int param, std::string_view what, std::int64_t x) {
    c.require(rule, x == static_cast<std::int32_t>(x), param, [&] { return fmt::format("{} is {}", what, x); });
  };
  const auto p = c.integers(pattern);
  for (std::size_t i = 0; i < p.size(); i += 2) require(pattern, "a step", p[i]);
  require(channel_multiplier, "channel_multiplier", c.integer(channel_multiplier));
  if (!c.is_register(offset)) require(offset, "offset", c.integer(offset));
}

std::vector<std::uint32_t> free_part(std::span<const std::int64_t> pattern) {
  std::vector<std::uint32_t> values{0};
  for (std::size_t pair = pattern.size(); pair >= 2; pair -= 2) {
    const auto step = static_cast<std::uint32_t>(pattern[pair - 2]);
    const std::size_t inner = values.size(), count = static_cast<std::size_t>(pattern[pair - 1]);
    values.resize(inner * count);
    std::uint32_t* all = values.data();
    if (inner == 1) {
      for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint32_t>(i) * step;
    } else {
      for (std::size_t i = inner; i < values.size(); ++i) all[i] = all[i - inner] + step;
    }
  }
  return values;
}

}  // namespace kiln::isa
