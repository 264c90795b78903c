// Attention of which every query sees the keys around its own place: groups of queries meet those alone, and groups
// that see as many are passes of one loop.
#include <algorithm>
#include <deque>

#include "kiln/tensor/lower/score_function.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kQueriesOfGroup = 512;
constexpr std::size_t kWaiting = 3;  // keys whose weights are made before the values of others are added

std::int64_t floored(std::int64_t n) { return (n >= 0 ? n : n - kBlock + 1) / kBlock * kBlock; }
std::int64_t ceiled(std::int64_t n) { return floored(n + kBlock - 1); }

}  // namespace

// Groups at both ends, for which there are fewer keys or queries, are written out.
void RegionEmitter::over_windows(const Attention& a) {
  const std::int64_t N = graph_.type(a.scores).shape.back(), queries = layout_.partitions;
  const std::int64_t whole = queries / kBlock * kBlock;
  const auto group = [&](const Index& block, std::int64_t n, std::int64_t low, std::int64_t high) {
    unshifted_->low = low, unshifted_->high = high, unshifted_->first_block = block;
    attend_group(a, block * kBlock, n);
  };
  const auto alone = [&](std::int64_t first, std::int64_t n) {
    group(first / kBlock, n, std::max(-first, -*a.back), std::min(N - first, n + *a.ahead));
  };
  const auto is_alike = [&](std::int64_t first) {
    return first >= *a.back && first + kQueriesOfGroup + *a.ahead <= N && first + kQueriesOfGroup <= whole;
  };
  for (std::int64_t first = 0; first < whole;) {
    std::int64_t alike = 0;
    while (is_alike(first + alike * kQueriesOfGroup)) ++alike;
    if (alike < 2) {
      alone(first, std::min(kQueriesOfGroup, whole - first));
      first += kQueriesOfGroup;
      continue;
    }
    k_.loop(alike, [&](Index g) {
      group(first / kBlock + g * (kQueriesOfGroup / kBlock), kQueriesOfGroup, -*a.back, kQueriesOfGroup + *a.ahead);
    });
    first += alike * kQueriesOfGroup;
  }
  if (queries > whole) alone(whole, queries - whole);
}

// The keys that a group of queries sees, which begins at a multiple of 128.
void RegionEmitter::weigh_window(const Attention& a, const Index& start, const Tile& queries, const AddWeights& add) {
  const std::int64_t n = queries.storage.dim(1), low = floored(unshifted_->low), high = unshifted_->high;
  const std::int64_t ahead = *a.ahead, back = *a.back;
  std::deque<std::pair<Keys, Tile>> waiting;
  const auto finish = [&](std::size_t left) {
    weigh_those_left();
    for (; waiting.size() > left; waiting.pop_front()) add(waiting.front().first, waiting.front().second);
  };
  const auto is_whole = [&](std::int64_t at) {
    return at + kBlock <= high && at + kBlock - 1 <= ahead && at + back >= n - 1;
  };
  for (std::int64_t at = low; at < high; at += kBlock) {
    Keys keys{.block = unshifted_->first_block + at / kBlock, .count = std::min(kBlock, high - at)};
    if (is_whole(at)) {
      if (is_whole(at + kBlock)) keys.blocks = 2, at += kBlock;
    } else {
      keys.from = std::clamp<std::int64_t>(floored(at - ahead), 0, n);
      keys.to = std::clamp<std::int64_t>(ceiled(at + keys.count + back), 0, n);
      if (keys.from >= keys.to) continue;
      if (keys.from < at + keys.count - 1 - ahead) keys.edge = at - ahead;
      if (keys.to - 1 > at + back) keys.floor = at + back;
    }
    waiting.emplace_back(keys, weigh_keys(a, keys, start, queries));
    if (!waits_for_more()) finish(kWaiting);
  }
  finish(0);
}

}  // namespace kiln::tensor
