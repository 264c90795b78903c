#include "kiln/timing/critical_path.h"

#include <algorithm>

namespace kiln::timing {

namespace {

// Iterations that were left out look like the period before them. Time in that period counts `extra` times
// more: once for each period left out, in all executions of the loop itself.
struct Period {
  Time begin, end;
  std::int64_t extra;
};

class PathBack {
 public:
  explicit PathBack(const Timeline& t) : t_(t), crossed_(t.gaps.size()) {}

  // The part of the total that is due to event `id`, which the next step of the path ends at `until`.
  CriticalStep step(EventId id, Time until) {
    const Gap* gap = cross_gap(t_.lanes[t_.events[id].lane].core, t_.events[id].start, until);
    if (gap) id = last_alike(*gap, id);
    const Event& e = t_.events[id];
    const Time left_out = gap ? gap->end - gap->begin : 0;
    CriticalStep step{id, until - e.start - left_out, 1};
    for (const Period& p : periods_) {
      const Time overlap = std::min(until - left_out, p.end) - std::max(e.start, p.begin);
      if (overlap <= 0) continue;
      step.time += overlap * p.extra;
      step.repeats += p.extra;
    }
    if (gap) periods_.push_back(period_before(*gap, e.start, step.repeats));
    return step;
  }

 private:
  // The gap that lies between two moments of a core, if any; each is crossed once.
  const Gap* cross_gap(int core, Time earlier, Time later) {
    for (std::size_t i = 0; i < t_.gaps.size(); ++i) {
      const Gap& g = t_.gaps[i];
      if (crossed_[i] || g.core != core || later - earlier < g.end - g.begin) continue;
      if (earlier >= g.end || later <= g.begin) continue;
      crossed_[i] = true;
      return &g;
    }
    return nullptr;
  }

  // What comes after a gap waits for the last iteration in it, which looks like the period before the gap.
  EventId last_alike(const Gap& gap, EventId id) const {
    for (EventId i = gap.last_event + 1; i-- > gap.first_event;) {
      if (t_.events[i].inst == t_.events[id].inst && t_.events[i].lane == t_.events[id].lane) return i;
    }
    return id;
  }

  Period period_before(const Gap& gap, Time at, std::int64_t times) const {
    return {at - (gap.end - gap.begin) / gap.periods, at, gap.periods * times};
  }

  const Timeline& t_;
  std::vector<bool> crossed_;
  std::vector<Period> periods_;
};

}  // namespace

std::vector<CriticalStep> critical_path(const Timeline& t) {
  std::vector<CriticalStep> path;
  if (t.events.empty()) return path;
  EventId at = 0;  // the first of those that end last
  for (EventId id = 1; id < t.events.size(); ++id) {
    if (t.events.end_of(id) > t.events.end_of(at)) at = id;
  }
  Time until = t.total;
  PathBack back(t);
  std::size_t steps = 0;  // as many as there are, but for gaps
  for (EventId id = at; id != isa::kNone; id = t.events.because_of(id)) ++steps;
  path.reserve(steps);
  while (at != isa::kNone) {
    const CriticalStep step = back.step(at, until);
    if (step.time != 0 || path.empty()) path.push_back(step);
    until = t.events[step.event].start;
    at = t.events[step.event].because;
  }
  if (until > 0 && !path.empty()) path.back().time += until;
  std::reverse(path.begin(), path.end());
  // When the path leaves a loop before a whole period, its parts do not add up exactly; the difference goes
  // to the longest.
  Time sum = 0;
  for (const CriticalStep& s : path) sum += s.time;
  if (!path.empty() && sum != t.total) {
    auto longest = std::max_element(path.begin(), path.end(),
                                    [](const CriticalStep& a, const CriticalStep& b) { return a.time < b.time; });
    longest->time += t.total - sum;
  }
  return path;
}

}  // namespace kiln::timing
