// Progress: how far a core has come: the times of what it executed, and where each of its streams stands.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/timing/issue.h"
#include "kiln/timing/plan.h"

namespace kiln::timing {

struct StreamState {
  Time free = 0;
  Time turn = 0;  // of that, spent on the condition of a dynamic loop
  EventId last = isa::kNone;

  // When the stream was free for its next instruction, before it turned to a loop's condition.
  Time take_issue() { return free - std::exchange(turn, 0); }
  // What an instruction waits for that waits for nothing else.
  Ready ready() const { return {free, turn > 0 ? Wait::loop : last == isa::kNone ? Wait::none : Wait::engine, last}; }
};

class Progress {
 public:
  // `events`: those of the core.
  Progress(const Plan& plan, const Events& events) : plan_(plan), events_(&events) {}
  // The same events, which lie here now.
  void read_from(const Events& events) { events_ = &events; }

  void reserve(std::size_t count) {
    event_.reserve(count);
    stream_.reserve(count);
  }
  // One more executed instruction, without a time yet.
  OpId add(const Op& op) {
    event_.push_back(isa::kNone);
    stream_.push_back(static_cast<std::uint8_t>(op.stream) | (op.kind == Kind::transfer ? kTransfer : 0));
    return static_cast<OpId>(event_.size() - 1);
  }
  // Its times are those of this event; a transfer begins with its trigger, which is the event before.
  void set_event(OpId op, EventId event) { event_[op] = event; }
  OpId op_count() const { return static_cast<OpId>(event_.size()); }
  static constexpr std::size_t bytes_per_op() { return sizeof(EventId) + sizeof(std::uint8_t); }
  OpTimes times(OpId op) const {
    const EventId event = event_[op];
    const bool transfer = stream_[op] & kTransfer;
    const int stream = stream_[op] & ~kTransfer;
    if (event == isa::kNone) return {.stream = stream, .transfer = transfer};
    return {events_->start_of(event - transfer), events_->end_of(event), event, stream, transfer};
  }
  bool has_times(OpId op) const { return event_[op] != isa::kNone; }

  StreamState& stream(Stream s) { return streams_[static_cast<int>(s)]; }
  const StreamState& stream(Stream s) const { return streams_[static_cast<int>(s)]; }
  // No instruction to come belongs to this stream.
  void retire(Stream s) { retired_[static_cast<int>(s)] = true; }

  // When those of `deps` that have times let an instruction of `stream` start that waits for `from` as well.
  Ready ready(const Ready& from, const Waits& deps, Stream stream) const;
  // No instruction to come starts before; at most the last end.
  Time earliest_start() const { return std::min(last_end_, earliest_free()); }
  // The same when streams were moved beyond the last end.
  Time earliest_free() const;

  // The last moment at which anything was under way.
  Time last_end() const { return last_end_; }
  void reach(Time end) { last_end_ = std::max(last_end_, end); }
  // No stream starts anything before `at`.
  void hold_until(Time at);
  // Every stream evaluates the condition of a dynamic loop, which is known at `condition`.
  void turn(Time condition, Time takes);
  // The streams in `used` go on so much later.
  void move(unsigned used, Time by);

 private:
  static constexpr std::uint8_t kTransfer = 0x80;
  const Plan& plan_;
  const Events* events_;
  std::vector<EventId> event_;        // by op
  std::vector<std::uint8_t> stream_;  // by op, and whether it is a transfer
  StreamState streams_[kStreamCount];
  bool retired_[kStreamCount] = {};
  Time last_end_ = 0;
};

}  // namespace kiln::timing
