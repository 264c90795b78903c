// An instruction takes its place on a lane: when it starts, when it ends, how long it keeps others out.
#include <algorithm>
#include <utility>

#include "kiln/timing/core.h"
#include "kiln/timing/rules.h"

namespace kiln::timing {
using namespace isa;

namespace {
constexpr std::size_t kForgetEvery = 1024;
constexpr int kQueues = 16;
constexpr int kQuadrants = 16;
}  // namespace

// Ops of one compute engine follow each other, so only what one of them reads from another takes its whole
// latency; the tensor engine adds up in PSUM without waiting.
Core::Ready Core::ready(const Ready& from, const std::vector<Dependency>& deps, int stream) const {
  Ready r = from;
  for (const Dependency& d : deps) {
    const OpTimes& t = times_[d.op];
    if (t.end < 0) continue;  // the op itself
    if (t.transfer) {
      r.later(t.end + plan_.dma_done + d.later, d.wait, t.event);
    } else if (t.stream == stream && (d.wait != Wait::read || stream == static_cast<int>(Stream::tensor))) {
      r.later(t.start + d.later, d.wait, t.event);
    } else {
      r.later(t.end + plan_.semaphore[stream] + d.later, d.wait, t.event);
    }
  }
  return r;
}

void Core::commit(const Issue& issue) {
  const Op& op = plan_.ops[issue.inst];
  const StreamState& stream = streams_[static_cast<int>(op.stream)];
  const Wait first = stream.turn > 0 ? Wait::loop : stream.last == kNone ? Wait::none : Wait::engine;
  Ready r = ready({stream.free, first, stream.last}, issue.deps, static_cast<int>(op.stream));
  if (!issue.stays.empty()) {
    r = with_memory(r, issue);
    take_memory(issue);
  }
  if (op.kind == Kind::transfer) {
    run_dma(issue, op, r);
  } else if (op.engine == Engine::tensor && op.load > 0) {
    run_tensor(issue, op, r);
  } else {
    run_compute(issue, op, r);
  }
  if (!issue.stays.empty()) give_memory(issue);
}

EventId Core::emit(const Event& event) {
  Lane& lane = lanes[event.lane];
  ++lane.executions;
  lane.busy += event.occupied;
  lane.waiting[static_cast<int>(event.wait)] += std::max<Time>(0, event.start - event.issue);
  Time& until = active_until_[event.lane];
  if (event.end > until) {
    lane.active += event.end - std::max(until, event.start);
    until = event.end;
  }
  last_end = std::max(last_end, event.end);
  events.push_back(event);
  return static_cast<EventId>(events.size() - 1);
}

void Core::done(const Issue& issue, const Op& op, Time start, Time end, EventId event) {
  OpTimes& t = times_[issue.op];
  t.start = start;
  t.end = end;
  t.event = event;
  ++totals.instructions;
  totals.macs += op.macs;
  totals.flops += op.flops;
  totals.hbm_read += op.hbm_read;
  totals.hbm_written += op.hbm_written;
  if (times_.size() % kForgetEvery == 0) forget();
}

void Core::run_compute(const Issue& issue, const Op& op, Ready r) {
  StreamState& stream = streams_[static_cast<int>(op.stream)];
  if (op.table >= 0 && op.table != table_) {
    table_ = op.table;
    r.later(stream.free + from_ns(arch_.timing.table_load_ns), Wait::engine, stream.last);
  }
  for (int p = 0; op.ports >> p; ++p) {
    if (op.ports >> p & 1) r.later(ports_[p].take(r.at, op.interval), Wait::port, r.because);
  }
  Event e{.inst = issue.inst, .because = r.because, .lane = static_cast<LaneId>(op.stream), .wait = r.wait};
  e.issue = stream.free - std::exchange(stream.turn, 0);
  e.start = r.at;
  e.end = r.at + op.latency;
  e.occupied = op.interval;
  e.flops = op.flops;
  stream.free = r.at + op.interval;
  stream.last = emit(e);
  done(issue, op, e.start, e.end, stream.last);
}

// The stationary operand is loaded while the matmul before streams. After idling the array runs at a lower
// clock until it has been busy for some time; as much idling takes the full clock away again.
void Core::run_tensor(const Issue& issue, const Op& op, Ready r) {
  StreamState& stream = streams_[static_cast<int>(Stream::tensor)];
  const TensorTiming& t = arch_.timing.matmul;
  const Ready load = ready({array_start_, Wait::engine, stream.last}, issue.early, static_cast<int>(Stream::tensor));
  if (t.warm_up_ns > 0) {
    const Time begin = std::max(r.at, load.at);
    heat_ = std::max<Time>(0, heat_ - std::max<Time>(0, begin - cooled_at_));
    if (heat_ == 0) warm_ = false;
  }
  const double slow = warm_ ? 1 : 1 / t.cold_rate;
  const auto stretch = [&](Time time) { return static_cast<Time>(static_cast<double>(time) * slow + 0.5); };
  const Time cold = warm_ ? 0 : from_ns(t.cold_latency_ns);
  if (load.at + op.load + cold > r.at) {
    const bool exposed = load.at > r.at;
    r = {load.at + op.load + cold, exposed ? load.wait : r.wait, exposed ? load.because : r.because};
  }
  Time free = 0;
  for (int q = 0; q < kQuadrants; ++q) {
    if (op.quadrants >> q & 1) free = std::max(free, array_free_[q]);
  }
  r.later(free, Wait::engine, stream.last);
  // A float32 product is two matmuls, each with its own load.
  const Time each = std::max(stretch(op.interval / op.parts), op.parts > 1 ? op.load + cold : 0);
  const Time last_part = r.at + each * (op.parts - 1);
  const Time occupied = last_part + stretch(op.interval / op.parts) - r.at;
  for (int q = 0; q < kQuadrants; ++q) {
    if (op.quadrants >> q & 1) array_free_[q] = r.at + occupied;
  }
  Event e{.inst = issue.inst, .because = r.because, .lane = static_cast<LaneId>(Stream::tensor), .wait = r.wait};
  e.issue = stream.free - std::exchange(stream.turn, 0);
  e.start = r.at;
  e.end = last_part + stretch(op.pass) + op.latency + cold;
  e.occupied = occupied;
  e.macs = op.macs;
  e.flops = op.flops;
  array_start_ = last_part;
  // Small tiles side by side start one after the other, a quadrant's share of time apart.
  const int pieces = __builtin_popcount(op.quadrants);
  stream.free = r.at + occupied * pieces / kQuadrants;
  stream.last = emit(e);
  if (t.warm_up_ns > 0) {
    heat_ = std::min(from_ns(t.warm_up_ns), heat_ + occupied);
    if (heat_ == from_ns(t.warm_up_ns)) warm_ = true;
    cooled_at_ = r.at + occupied;
  }
  done(issue, op, e.start, e.end, stream.last);
}

// Queues are for the picture only: a transfer takes the first one that is free.
LaneId Core::queue_lane(Time start) {
  std::size_t q = 0;
  while (q < queue_free_.size() && queue_free_[q] > start) ++q;
  if (q == queue_free_.size() && q < kQueues) {
    Lane lane;
    lane.name = (number_ ? "core " + std::to_string(number_) + " dma " : "dma ") + std::to_string(q);
    lane.engine = Engine::dma;
    lane.core = number_;
    lane.queue = static_cast<int>(q);
    queue_lanes_.push_back(static_cast<LaneId>(lanes.size()));
    queue_free_.push_back(0);
    lanes.push_back(std::move(lane));
    active_until_.push_back(0);
  }
  if (q == queue_free_.size())
    q = static_cast<std::size_t>(std::min_element(queue_free_.begin(), queue_free_.end()) - queue_free_.begin());
  return queue_lanes_[q];
}

void Core::run_dma(const Issue& issue, const Op& op, Ready r) {
  StreamState& stream = streams_[static_cast<int>(op.stream)];
  Time& slot = stream.in_flight[stream.next];
  stream.next = (stream.next + 1) % stream.in_flight.size();
  r.later(slot, Wait::queue, r.because);
  const Time turn = units_[op.unit].take(r.at, op.trigger + plan_.trigger_gap);
  if (turn - r.at > r.at - stream.free) {
    r.later(turn, Wait::queue, stream.last);
  } else {
    r.at = turn;  // what it waited for before was longer
  }
  Event trigger{.inst = issue.inst,
                .because = r.because,
                .lane = static_cast<LaneId>(op.stream),
                .kind = Kind::trigger,
                .wait = r.wait};
  trigger.issue = stream.free - std::exchange(stream.turn, 0);
  trigger.start = r.at;
  trigger.end = r.at + op.trigger;
  trigger.occupied = op.trigger;
  stream.free = r.at + op.interval;
  stream.last = emit(trigger);

  const Time first = r.at + op.latency;
  const Time share = pair_ ? std::max(op.share, 2 * op.hbm_share) : op.share;
  const Time begin = dma_.take(first, share);
  Event e{.inst = issue.inst,
          .because = stream.last,
          .lane = queue_lane(begin),
          .kind = Kind::transfer,
          .wait = begin > first ? Wait::queue : Wait::start};
  e.issue = r.at;
  e.start = begin;
  e.end = begin + std::max(op.transfer, share) + op.spread;
  e.occupied = e.end - e.start;
  e.bytes = op.bytes;
  e.hbm_bytes = op.hbm_read + op.hbm_written;
  queue_free_[static_cast<std::size_t>(lanes[e.lane].queue)] = e.end;
  transfers.add(e.start, e.end);
  slot = e.end;
  done(issue, op, r.at, e.end, emit(e));
}

void Core::replay(const Issue& issue, const Op& op) {
  const OpTimes from = times_[issue.op - replay_.ops];
  EventId event = kNone;
  for (EventId id = op.kind == Kind::transfer ? from.event - 1 : from.event; id <= from.event; ++id) {
    Event e = events[id];
    e.issue += replay_.by;
    e.start += replay_.by;
    e.end += replay_.by;
    e.repeats = 1;
    if (e.because != kNone && e.because >= replay_.first_event) e.because += replay_.events;
    event = emit(e);
    if (e.kind == Kind::transfer) transfers.add(e.start, e.end);
  }
  streams_[static_cast<int>(op.stream)].last = op.kind == Kind::transfer ? event - 1 : event;
  done(issue, op, from.start + replay_.by, from.end + replay_.by, event);
}

void Core::forget() {
  const Time floor = earliest_start();
  dma_.forget_before(floor);
  transfers.forget_before(floor);
  for (Server& p : ports_) p.forget_before(floor);
  for (Server& u : units_) u.forget_before(floor);
  if (options_.done && number_ == 0)
    options_.done->store(std::min(1.0, static_cast<double>(times_.size()) / expected_), std::memory_order_relaxed);
  if (options_.cancel && options_.cancel->load(std::memory_order_relaxed))
    raise(timing_rules::kTable, timing_rules::kCancelled, {});
}

void Core::jump(unsigned used, Time complete, Time period, std::int64_t count) {
  const Time by = period * count;
  for (int s = 0; s < kStreamCount; ++s) {
    if (!(used >> s & 1)) continue;
    streams_[s].free += by;
    for (Time& t : streams_[s].in_flight) t += by;
  }
  dma_.repeat(complete, period, count);
  for (Server& p : ports_) p.repeat(complete, period, count);
  for (Server& u : units_) u.repeat(complete, period, count);
  for (Time& t : queue_free_) t += by;
  if (!(used >> static_cast<int>(Stream::tensor) & 1)) return;
  for (Time& t : array_free_) t += by;
  array_start_ += by;
  cooled_at_ += by;
}

}  // namespace kiln::timing
