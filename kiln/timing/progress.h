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
  explicit Progress(const Plan& plan) : plan_(plan) {}

  void reserve(std::size_t count) { times_.reserve(count); }
  // One more executed instruction, without a time yet.
  OpId add(const Op& op) {
    times_.push_back({.stream = static_cast<std::uint8_t>(op.stream), .transfer = op.kind == Kind::transfer});
    return static_cast<OpId>(times_.size() - 1);
  }
  void set_times(OpId op, Time start, Time end, EventId event) {
    OpTimes& t = times_[op];
    t.start = start;
    t.end = end;
    t.event = event;
  }
  OpId op_count() const { return static_cast<OpId>(times_.size()); }
  const OpTimes& times(OpId op) const { return times_[op]; }
  bool has_times(OpId op) const { return times_[op].end >= 0; }

  StreamState& stream(Stream s) { return streams_[static_cast<int>(s)]; }
  const StreamState& stream(Stream s) const { return streams_[static_cast<int>(s)]; }
  // No instruction to come belongs to this stream.
  void retire(Stream s) { retired_[static_cast<int>(s)] = true; }

  // When those of `deps` that have times let an instruction of `stream` start that waits for `from` as well.
  Ready ready(const Ready& from, const std::vector<Dependency>& deps, Stream stream) const;
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
  const Plan& plan_;
  std::vector<OpTimes> times_;
  StreamState streams_[kStreamCount];
  bool retired_[kStreamCount] = {};
  Time last_end_ = 0;
};

}  // namespace kiln::timing
