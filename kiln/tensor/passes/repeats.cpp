#include "kiln/tensor/passes/repeats.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace kiln::tensor {
namespace {

// Distances between equal runs of a few elements, the most frequent first: periods are among them.
std::vector<std::size_t> distances(const std::vector<std::uint64_t>& marks, std::size_t first, std::size_t last) {
  constexpr std::size_t kRun = 4, kTried = 32;
  std::unordered_map<std::uint64_t, std::size_t> seen;
  std::map<std::size_t, std::size_t> counts;
  for (std::size_t i = first; i + kRun <= last; ++i) {
    std::uint64_t h = 0;
    for (std::size_t j = i; j < i + kRun; ++j) h = (h ^ marks[j]) * 0x100000001b3u + (h >> 29);
    const auto [at, is_new] = seen.try_emplace(h, i);
    if (!is_new) ++counts[i - at->second];
    at->second = i;
  }
  std::vector<std::size_t> out;
  for (const auto& [distance, count] : counts) out.push_back(distance);
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  out.resize(std::min(out.size(), kTried));
  return out;
}

}  // namespace

std::optional<Repeat> longest_repeat(const std::vector<std::uint64_t>& marks, std::size_t first, std::size_t last) {
  std::optional<Repeat> best;
  std::size_t longest = 0;
  for (const std::size_t period : distances(marks, first, last)) {
    std::size_t run = 0;
    for (std::size_t i = first; i + period <= last; ++i) {
      const bool same = i + period < last && marks[i] == marks[i + period];
      run = same ? run + 1 : 0;
      // Twice a period repeats too, but its run is shorter.
      if (run < period || run <= longest) continue;
      longest = run;
      best = Repeat{i + 1 - run, period, run / period + 1};
    }
  }
  return best;
}

}  // namespace kiln::tensor
