#include "kiln/timing/list_scheduler.h"

#include <algorithm>

namespace kiln::timing {
using isa::kNone;

Issue& ListScheduler::next() {
  if (spare_.empty()) {
    spare_.push_back(static_cast<Place>(places_.size()));
    places_.emplace_back();
  }
  return places_[spare_.back()].issue;
}

void ListScheduler::hold(const Progress& progress) {
  const Place place = spare_.back();
  spare_.pop_back();
  Held& held = places_[place];
  held.waiters.clear();
  held.missing = 0;
  while (place_of_.size() < progress.op_count()) place_of_.push_back(kNone);
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
  const Issue& issue = places_[place].issue;
  Ready& ready = places_[place].ready;
  const Ready none{0, Wait::none, kNone};
  const Stream stream = stream_of(issue);
  ready = progress.ready(none, issue.deps, stream);
  const Time known = std::max(ready.at, progress.ready(none, issue.early, stream).at);
  std::vector<Turn>& later = turns_[static_cast<int>(stream)].later;
  const Turn turn{known, issue.op, place};
  const auto is_after = [](const Turn& a, const Turn& b) {
    return a.known != b.known ? a.known > b.known : a.op > b.op;
  };
  later.insert(std::upper_bound(later.begin(), later.end(), turn, is_after), turn);
}

// Moves those over that wait for nothing but their stream, which is free from `free` on.
void ListScheduler::sort_in(StreamTurns& turns, Time free) {
  while (!turns.later.empty() && turns.later.back().known <= free) {
    const Turn turn = turns.later.back();
    turns.later.pop_back();
    turns.now.insert(std::upper_bound(turns.now.begin(), turns.now.end(), turn.op,
                                      [](OpId op, const Turn& other) { return op < other.op; }),
                     turn);
  }
}

// Whether to look further, at those that come `soonest` at the same time, or later.
bool ListScheduler::look(Best& best, std::vector<Turn>& turns, std::size_t index, Time soonest, Time semaphore,
                         const Stays& stays) const {
  const Turn& turn = turns[index];
  if (best.is_before(soonest, turn.op)) return false;  // memory can only make it later
  const Time at = stays.soonest(soonest, places_[turn.place].issue.stays, semaphore, turn.op == oldest_);
  if (at >= 0 && !best.is_before(at, turn.op)) best = {at, turn.op, &turns, index};
  return at != soonest;
}

ListScheduler::Chosen ListScheduler::choose(const Progress& progress, const Stays& stays) {
  while (progress.has_times(oldest_)) ++oldest_;
  Best best;
  for (int s = 0; s < kStreamCount; ++s) {
    StreamTurns& turns = turns_[s];
    if (turns.now.empty() && turns.later.empty()) continue;
    const Time free = progress.stream(static_cast<Stream>(s)).free, semaphore = plan_.semaphore[s];
    sort_in(turns, free);
    bool goes_on = true;
    for (std::size_t i = 0; goes_on && i < turns.now.size(); ++i)
      goes_on = look(best, turns.now, i, free, semaphore, stays);
    for (std::size_t i = turns.later.size(); goes_on && i-- > 0;)
      goes_on = look(best, turns.later, i, turns.later[i].known, semaphore, stays);
  }
  chosen_ = (*best.of)[best.index].place;
  best.of->erase(best.of->begin() + static_cast<std::ptrdiff_t>(best.index));
  return {places_[chosen_].issue, places_[chosen_].ready};
}

void ListScheduler::started(const Progress& progress) {
  for (Place waiter : places_[chosen_].waiters) {
    if (--places_[waiter].missing == 0) make_ready(waiter, progress);
  }
  spare_.push_back(chosen_);
  --held_;
}

}  // namespace kiln::timing
