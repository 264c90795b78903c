#include "kiln/isa/instructions/shared/search8.h"

namespace kiln::isa {

std::int64_t find_first(const float* x, std::int64_t from, std::int64_t n, float value) {
  constexpr std::int64_t kBlock = 32;  // tested together, without a branch per element
  std::int64_t i = from;
  for (; i + kBlock <= n; i += kBlock) {
    int hits = 0;
    for (std::int64_t k = 0; k < kBlock; ++k) hits += x[i + k] == value;
    if (hits) break;
  }
  for (; i < n; ++i) {
    if (x[i] == value) return i;
  }
  return kNotFound;
}

void find_eight(const float* x, std::int64_t n, const float* vals, bool backward, std::uint32_t* found) {
  for (std::int64_t step = 0; step < kSearched; ++step) {
    const auto position = [&](std::int64_t k) { return backward ? kSearched - 1 - k : k; };
    const std::int64_t j = position(step);
    // Equal values take positions in ascending order, so the search goes on behind the last one.
    std::int64_t from = 0;
    for (std::int64_t k = 0; k < step; ++k) {
      if (vals[position(k)] == vals[j]) from = std::int64_t{found[position(k)]} + 1;
    }
    found[j] = static_cast<std::uint32_t>(find_first(x, from, n, vals[j]));
  }
}

}  // namespace kiln::isa
