#include "kiln/timing/dma_unit.h"

#include <algorithm>

namespace kiln::timing {

namespace {
constexpr int kQueues = 16;
}

DmaUnit::DmaUnit(const Arch& arch, bool pair) : pair_(pair), trigger_gap_(from_ns(arch.dma.trigger_gap_ns)) {
  for (InFlight& f : in_flight_) f.ends.assign(static_cast<std::size_t>(arch.dma.outstanding_transfers), 0);
}

Ready DmaUnit::trigger(const Op& op, Ready r, const StreamState& stream) {
  const Time turn = units_[op.unit].take(r.at, op.trigger + trigger_gap_);
  if (turn - r.at > r.at - stream.free) {
    r.later(turn, Wait::queue, stream.last);
  } else {
    r.at = turn;  // what it waited for before was longer
  }
  return r;
}

// Queues are for the picture only: a transfer takes the first one that is free.
int DmaUnit::choose_queue(Time start) {
  std::size_t q = 0;
  while (q < queue_free_.size() && queue_free_[q] > start) ++q;
  if (q == queue_free_.size() && q < kQueues) queue_free_.push_back(0);
  if (q == queue_free_.size())
    q = static_cast<std::size_t>(std::min_element(queue_free_.begin(), queue_free_.end()) - queue_free_.begin());
  return static_cast<int>(q);
}

DmaUnit::Run DmaUnit::run(const Op& op, Ready ready, const StreamState& stream, Others others) {
  InFlight& in_flight = in_flight_[static_cast<int>(op.stream)];
  Time& slot = in_flight.ends[in_flight.next];
  in_flight.next = (in_flight.next + 1) % in_flight.ends.size();
  ready.later(slot, Wait::queue, ready.because);
  Run run;
  run.trigger = trigger(op, ready, stream);
  const Time first = std::max(run.trigger.at, others.there) + op.latency;
  const Time share = pair_ ? std::max(op.share, 2 * op.hbm_share) : op.share;
  run.begin = engines_.take(first, share);
  if (op.crosses) run.begin = links_.take(std::max(run.begin, others.links), op.link);
  run.end = run.begin + std::max(op.transfer, share) + op.spread;
  run.queued = run.begin > first;
  run.late = others.there > run.trigger.at;
  run.queue = op.crosses ? -1 : choose_queue(run.begin);
  if (run.queue >= 0) queue_free_[static_cast<std::size_t>(run.queue)] = run.end;
  slot = run.end;
  return run;
}

void DmaUnit::forget_before(Time floor) {
  engines_.forget_before(floor);
  links_.forget_before(floor);
  for (Server& u : units_) u.forget_before(floor);
}

void DmaUnit::jump(unsigned used, Time complete, Time period, std::int64_t count, Time floor) {
  const Time by = period * count;
  for (int s = 0; s < kStreamCount; ++s) {
    if (!(used >> s & 1)) continue;
    for (Time& t : in_flight_[s].ends) t += by;
  }
  engines_.repeat(complete, period, count, floor);
  links_.repeat(complete, period, count, floor);
  for (Server& u : units_) u.repeat(complete, period, count, floor);
  for (Time& t : queue_free_) t += by;
}

}  // namespace kiln::timing
