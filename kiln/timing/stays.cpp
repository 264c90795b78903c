#include "kiln/timing/stays.h"

#include <algorithm>

namespace kiln::timing {

StayId Stays::open(std::int64_t bytes, bool psum) {
  stays_.push_back({bytes, psum});
  return static_cast<StayId>(stays_.size() - 1);
}

void Stays::close(StayId id) {
  stays_[id].closed = true;
  give_back(stays_[id]);
}

void Stays::use(StayId id, StayIds& of_instruction) {
  if (std::find(of_instruction.begin(), of_instruction.end(), id) != of_instruction.end()) return;
  of_instruction.push_back(id);
  ++stays_[id].waiting;
}

Time Stays::soonest(Time from, const StayIds& stays, Time semaphore, bool anyway) const {
  for (StayId id : stays) {
    const Stay& stay = stays_[id];
    if (stay.taken) continue;
    const Time at = pools_[stay.psum].look(stay.bytes).at;
    if (at < 0 && !anyway) return -1;
    if (at > 0) from = std::max(from, at + semaphore);
  }
  return from;
}

Ready Stays::ready(Ready r, const StayIds& stays, Time semaphore) const {
  for (StayId id : stays) {
    const Stay& stay = stays_[id];
    if (stay.taken) continue;
    const TimedPool::Given given = pools_[stay.psum].look(stay.bytes);
    if (given.at > 0) r.later(given.at + semaphore, Wait::memory, given.event);
  }
  return r;
}

void Stays::take(const StayIds& stays) {
  for (StayId id : stays) {
    Stay& stay = stays_[id];
    if (stay.taken) continue;
    pools_[stay.psum].take(stay.bytes);
    stay.taken = true;
  }
}

void Stays::leave(const StayIds& stays, const OpTimes& times) {
  for (StayId id : stays) {
    Stay& stay = stays_[id];
    --stay.waiting;
    if (times.end >= stay.end) stay.end = times.end, stay.last = times.event;
    give_back(stay);
  }
}

void Stays::give_back(const Stay& stay) {
  if (stay.closed && stay.waiting == 0 && stay.taken) pools_[stay.psum].give_back(stay.bytes, stay.end, stay.last);
}

}  // namespace kiln::timing
