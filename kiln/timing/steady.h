// Steady: watches the iterations of a loop until each is the one before, only later, and then leaves out the
// rest. What it leaves out is exactly what simulating would have given: every op of the last iterations kept
// its distance, for as many iterations as any of them looks back, and nothing from before the loop is still
// under way.
#pragma once

#include <vector>

#include "kiln/timing/core_model.h"

namespace kiln::timing {

class Steady {
 public:
  Steady(CoreModel& core, isa::LoopId loop);
  ~Steady();
  Steady(const Steady&) = delete;

  // After each iteration, `left` more to come: how many of them to leave out.
  std::int64_t after_iteration(std::int64_t left, int number, std::vector<Gap>& gaps);

 private:
  static constexpr std::int64_t kPeriods = 8;  // iterations after which a pattern may repeat
  struct Mark {
    OpId first_op;
    EventId first_event;
    LoopState state;
  };
  void mark();
  std::int64_t iterations() const { return static_cast<std::int64_t>(marks_.size()) - 1; }
  OpId first_op(std::int64_t iteration) const { return marks_[static_cast<std::size_t>(iteration)].first_op; }
  // How much later iteration `b` is than `a`; negative when they are not alike.
  Time distance(std::int64_t a, std::int64_t b) const;
  bool past_is_over(std::int64_t period) const;
  std::int64_t leave_out(std::int64_t period, std::int64_t replayed, std::int64_t left, int number,
                         std::vector<Gap>& gaps);
  std::vector<bool> used_outside() const;
  void in_replay();

  CoreModel& core_;
  isa::LoopId loop_;
  Time horizon_;             // everything from before the loop is done by then
  std::vector<Mark> marks_;  // the beginning of each iteration, and of the next
  std::int64_t reach_ = 0;   // iterations that a dependency goes back, at most
  std::int64_t alike_[kPeriods + 1] = {};
  Time period_time_[kPeriods + 1] = {};
  bool over_ = false;
  std::int64_t replay_left_ = 0, replayed_ = 0, period_ = 0, periods_left_out_ = 0;
  EventLog::Counts before_;  // the last repeated period
};

}  // namespace kiln::timing
