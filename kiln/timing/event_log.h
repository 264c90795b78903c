// EventLog: what a core did: its events, its lanes and what is counted over them.
#pragma once

#include <string>
#include <vector>

#include "kiln/timing/op.h"
#include "kiln/timing/server.h"

namespace kiln::timing {

struct Totals {
  std::int64_t instructions = 0;
  double hbm_read = 0, hbm_written = 0, macs = 0, flops = 0;
};

class EventLog {
 public:
  // One lane per stream, and one for links when there are collectives; queues follow when they are used. `prefix`
  // stands before the names of lanes.
  EventLog(int core, std::string prefix, bool links);

  void reserve(std::size_t count) { events_.reserve(count); }
  EventId add(const Event& event);
  void count(const Op& op);  // one more executed instruction
  LaneId queue_lane(int queue);
  LaneId link_lane() const { return kStreamCount; }
  void forget_before(Time floor) { transfers_.forget_before(floor); }  // no transfer to come begins earlier

  const Events& events() const { return events_; }
  EventId event_count() const { return static_cast<EventId>(events_.size()); }
  Events take_events() { return std::move(events_); }
  const std::vector<Lane>& lanes() const { return lanes_; }
  const std::string& prefix() const { return prefix_; }
  const Totals& totals() const { return totals_; }
  Time dma_busy() const { return transfers_.total(); }  // any queue moves bytes

  // Steady loops. The events from `first` on stand for `more` periods that are left out, too: how many bytes these move
  // from and to HBM.
  double leave_out(EventId first, std::int64_t more);
  void move_lanes(EventId first,
                  Time by);  // what follows the events from `first` on, in their lanes, comes so much later
  // What was counted so far, and: counts what was counted since then `times` more.
  struct Counts {
    std::vector<Lane> lanes;
    Totals totals;
    Time dma_busy = 0;
  };
  Counts counts() const { return {lanes_, totals_, dma_busy()}; }
  void repeat_since(const Counts& before, std::int64_t times);

 private:
  void add_lane(const std::string& name, Engine engine, int queue);

  int core_;
  std::string prefix_;
  std::size_t first_queue_;  // lane
  Events events_;
  std::vector<Lane> lanes_;
  std::vector<Time> active_until_, busy_until_;  // by lane
  Totals totals_;
  Coverage transfers_;
};

}  // namespace kiln::timing
