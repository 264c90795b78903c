#include "kiln/timing/critical_path.h"

#include <algorithm>

namespace kiln::timing {

namespace {

// The gap that lies between two moments of a core, if any.
const Gap* gap_between(const Timeline& t, int core, Time earlier, Time later) {
  for (const Gap& g : t.gaps) {
    if (g.core == core && later - earlier >= g.end - g.begin && earlier < g.end && later > g.begin) return &g;
  }
  return nullptr;
}

}  // namespace

std::vector<CriticalStep> critical_path(const Timeline& t) {
  std::vector<CriticalStep> path;
  if (t.events.empty()) return path;
  const auto last = std::max_element(t.events.begin(), t.events.end(),
                                     [](const Event& a, const Event& b) { return a.end < b.end; });
  EventId at = static_cast<EventId>(last - t.events.begin());
  Time until = t.total;
  // A step inside the last period before a gap stands for the same step of every iteration in the gap.
  const Gap* inside = nullptr;
  Time period_begin = 0;
  while (at != isa::kNone) {
    const Event& e = t.events[at];
    Time time = until - e.start;
    std::int64_t repeats = 1;
    const Gap* gap = gap_between(t, t.lanes[e.lane].core, e.start, until);
    if (gap && gap != inside) {
      time -= gap->end - gap->begin;
      inside = gap;
      const Event& first = t.events[gap->first_event];
      period_begin = until - (gap->end - gap->begin) -
                     (gap->end - gap->begin) / std::max<std::int64_t>(1, first.repeats - 1);
    }
    if (inside && e.start >= period_begin && e.repeats > 1) {
      repeats = e.repeats;
      time *= repeats;
    }
    if (time != 0 || path.empty()) path.push_back({at, time, repeats});
    until = e.start;
    at = e.because;
  }
  if (until > 0 && !path.empty()) path.back().time += until;
  std::reverse(path.begin(), path.end());
  // Where a period does not begin with a step, its parts do not add up exactly; the difference goes to the
  // longest.
  Time sum = 0;
  for (const CriticalStep& s : path) sum += s.time;
  if (!path.empty() && sum != t.total) {
    auto longest =
        std::max_element(path.begin(), path.end(),
                         [](const CriticalStep& a, const CriticalStep& b) { return a.time < b.time; });
    longest->time += t.total - sum;
  }
  return path;
}

}  // namespace kiln::timing
