#include "kiln/timing/list_scheduler.h"

#include <algorithm>

namespace kiln::timing {
using isa::kNone;

void ListScheduler::hold(Issue& issue, const Progress& progress) {
  if (spare_.empty()) {
    spare_.push_back(static_cast<Place>(places_.size()));
    places_.emplace_back();
  }
  const Place place = spare_.back();
  spare_.pop_back();
  Held& held = places_[place];
  std::swap(held.issue, issue);
  held.waiters.clear();
  held.missing = 0;
  place_of_.resize(progress.op_count(), kNone);
  place_of_[held.issue.op] = place;
  ++held_;
  for (const auto* deps : {&held.issue.deps, &held.issue.early}) {
    for (const Dependency& d : *deps) {
      if (d.op == held.issue.op || progress.has_times(d.op)) continue;
      places_[place_of_[d.op]].waiters.push_back(place);
      ++held.missing;
    }
  }
  if (held.missing == 0) make_ready(place, progress);
}

void ListScheduler::make_ready(Place place, const Progress& progress) {
  Held& held = places_[place];
  const Ready none{0, Wait::none, kNone};
  const Stream stream = stream_of(held.issue);
  held.known =
      std::max(progress.ready(none, held.issue.deps, stream).at, progress.ready(none, held.issue.early, stream).at);
  ready_of(held.issue).push_back(place);
}

// When an instruction whose dependencies have times could start; negative when there is no memory for it.
Time ListScheduler::estimate(const Held& held, bool oldest, const Progress& progress, const Stays& stays) const {
  if (!oldest && !stays.have_room(held.issue.stays)) return -1;
  const Stream stream = stream_of(held.issue);
  const Ready soonest{std::max(held.known, progress.stream(stream).free), Wait::engine, kNone};
  return stays.ready(soonest, held.issue.stays, plan_.semaphore[static_cast<int>(stream)]).at;
}

const Issue& ListScheduler::choose(const Progress& progress, const Stays& stays) {
  while (progress.has_times(oldest_)) ++oldest_;
  Place best = kNone;
  Time earliest = -1;
  for (int s = 0; s < kStreamCount; ++s) {
    const Time free = progress.stream(static_cast<Stream>(s)).free;
    for (Place place : ready_[s]) {
      const Held& held = places_[place];
      const OpId op = held.issue.op;
      const Time soonest = std::max(held.known, free);
      if (earliest >= 0 && (soonest > earliest || (soonest == earliest && op > places_[best].issue.op)))
        continue;  // memory can only make it later
      const Time t = estimate(held, op == oldest_, progress, stays);
      if (t < 0) continue;
      if (earliest < 0 || t < earliest || (t == earliest && op < places_[best].issue.op)) best = place, earliest = t;
    }
  }
  chosen_ = best;
  return places_[best].issue;
}

void ListScheduler::started(const Progress& progress) {
  Held& held = places_[chosen_];
  std::vector<Place>& places = ready_of(held.issue);
  std::swap(*std::find(places.begin(), places.end(), chosen_), places.back());
  places.pop_back();
  for (Place waiter : held.waiters) {
    if (--places_[waiter].missing == 0) make_ready(waiter, progress);
  }
  spare_.push_back(chosen_);
  --held_;
}

}  // namespace kiln::timing
