#include "kiln/timing/exposed.h"

#include <algorithm>
#include <vector>

#include "kiln/timing/server.h"

namespace kiln::timing {
namespace {

using Span = Server::Span;

// In order and apart.
std::vector<Span> united(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> all;
  for (const Span& s : spans) {
    if (!all.empty() && s.begin <= all.back().end) {
      all.back().end = std::max(all.back().end, s.end);
    } else {
      all.push_back(s);
    }
  }
  return all;
}

Time length(const std::vector<Span>& spans) {
  Time sum = 0;
  for (const Span& s : spans) sum += s.end - s.begin;
  return sum;
}

// What both cover.
Time overlap(const std::vector<Span>& a, const std::vector<Span>& b) {
  Time sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size(); a[i].end < b[j].end ? ++i : ++j)
    sum += std::max<Time>(0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
  return sum;
}

}  // namespace

// Of iterations that are left out lanes count all, and what links cover of work is as in those that are there.
void add_exposed(Timeline& t, int cores_per_rank) {
  if (std::ranges::none_of(t.lanes, &Lane::links)) return;
  std::vector<std::vector<Span>> links(t.ranks.size()), work(t.ranks.size());
  for (const Event& e : t.events) {
    const Lane& lane = t.lanes[e.lane];
    const auto kind = static_cast<std::size_t>(lane.core / cores_per_rank);
    if (lane.links) links[kind].push_back({e.start, e.end});
    if (e.kind == Kind::execute && lane.engine != Engine::sync) work[kind].push_back({e.start, e.end});
  }
  for (std::size_t kind = 0; kind < t.ranks.size(); ++kind) {
    const std::vector<Span> on_links = united(std::move(links[kind]));
    const std::vector<Span> at_work = united(std::move(work[kind]));
    const Time seen = length(on_links), hidden = overlap(on_links, at_work);
    RanksAlike& ranks = t.ranks[kind];
    ranks.links = seen;
    ranks.work = length(at_work);
    for (const Lane& lane : t.lanes) {
      if (static_cast<std::size_t>(lane.core / cores_per_rank) != kind || lane.queue >= 0) continue;
      if (lane.links) ranks.links = std::max(ranks.links, lane.active);
      if (!lane.links && lane.engine != Engine::sync) ranks.work = std::max(ranks.work, lane.active);
    }
    const double share = seen > 0 ? 1 - static_cast<double>(hidden) / static_cast<double>(seen) : 0;
    ranks.exposed = static_cast<Time>(static_cast<double>(ranks.links) * share);
  }
}

}  // namespace kiln::timing
