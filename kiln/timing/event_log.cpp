#include "kiln/timing/event_log.h"

#include <algorithm>
#include <limits>

namespace kiln::timing {

namespace {

// Adds what came since `then` so many times more. Transfers wait side by side, so they may wait longer than can be
// counted.
void add_times(std::int64_t& count, std::int64_t then, std::int64_t times) {
  std::int64_t more = 0;
  if (__builtin_mul_overflow(times, count - then, &more) || __builtin_add_overflow(count, more, &count))
    count = std::numeric_limits<std::int64_t>::max();
}

// Adds the part of begin … end that lies after `until`, where what was covered before ends.
void cover(Time& sum, Time& until, Time begin, Time end) {
  if (end <= until) return;
  sum += end - std::max(until, begin);
  until = end;
}

}  // namespace

EventLog::EventLog(int core, std::string prefix, bool links) : core_(core), prefix_(std::move(prefix)) {
  for (int s = 0; s < kStreamCount; ++s) {
    const Stream stream = static_cast<Stream>(s);
    add_lane(name(stream), engine_of(stream), -1);
  }
  if (links) {
    add_lane("links", Engine::unknown, -1);
    lanes_.back().links = true;
  }
  first_queue_ = lanes_.size();
}

void EventLog::add_lane(const std::string& name, Engine engine, int queue) {
  Lane lane;
  lane.name = prefix_ + name;
  lane.engine = engine;
  lane.core = core_;
  lane.queue = queue;
  lanes_.push_back(std::move(lane));
  active_until_.push_back(0);
  busy_until_.push_back(0);
}

LaneId EventLog::queue_lane(int queue) {
  const std::size_t lane = first_queue_ + static_cast<std::size_t>(queue);
  while (lanes_.size() <= lane) {
    const int next = static_cast<int>(lanes_.size() - first_queue_);
    add_lane("dma " + std::to_string(next), Engine::dma, next);
  }
  return static_cast<LaneId>(lane);
}

EventId EventLog::add(const Event& event) {
  Lane& lane = lanes_[event.lane];
  ++lane.executions;
  lane.waiting[static_cast<int>(event.wait)] += std::max<Time>(0, event.start - event.issue);
  cover(lane.busy, busy_until_[event.lane], event.start, event.start + event.occupied);
  cover(lane.active, active_until_[event.lane], event.start, event.end);
  if (event.kind == Kind::transfer && !lane.links) transfers_.add(event.start, event.end);
  events_.push_back(event);
  return static_cast<EventId>(events_.size() - 1);
}

void EventLog::count(const Op& op) {
  ++totals_.instructions;
  totals_.macs += op.macs;
  totals_.flops += op.flops;
  totals_.hbm_read += op.hbm_read;
  totals_.hbm_written += op.hbm_written;
}

double EventLog::leave_out(EventId first, std::int64_t more) {
  double bytes = 0;
  for (std::size_t e = first; e < events_.size(); ++e) {
    const Event event = events_[e];
    bytes += event.hbm_bytes * static_cast<double>(event.repeats);
    events_.set_repeats(e, event.repeats * (more + 1));
  }
  return bytes * static_cast<double>(more);
}

void EventLog::move_lanes(EventId first, Time by) {
  std::vector<bool> used(lanes_.size());
  Time begin = std::numeric_limits<Time>::max();
  for (std::size_t e = first; e < events_.size(); ++e) {
    const Event event = events_[e];
    used[event.lane] = true;
    if (event.kind == Kind::transfer && !lanes_[event.lane].links) begin = std::min(begin, event.start);
  }
  transfers_.echo(begin, by);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) active_until_[i] += by, busy_until_[i] += by;
  }
}

void EventLog::repeat_since(const Counts& before, std::int64_t times) {
  for (std::size_t i = 0; i < before.lanes.size(); ++i) {
    Lane& lane = lanes_[i];
    const Lane& then = before.lanes[i];
    add_times(lane.executions, then.executions, times);
    add_times(lane.busy, then.busy, times);
    add_times(lane.active, then.active, times);
    for (int w = 0; w < kWaitCount; ++w) add_times(lane.waiting[w], then.waiting[w], times);
  }
  Totals& t = totals_;
  add_times(t.instructions, before.totals.instructions, times);
  t.hbm_read += static_cast<double>(times) * (t.hbm_read - before.totals.hbm_read);
  t.hbm_written += static_cast<double>(times) * (t.hbm_written - before.totals.hbm_written);
  t.macs += static_cast<double>(times) * (t.macs - before.totals.macs);
  t.flops += static_cast<double>(times) * (t.flops - before.totals.flops);
  transfers_.add_total(times * (dma_busy() - before.dma_busy));
}

}  // namespace kiln::timing
