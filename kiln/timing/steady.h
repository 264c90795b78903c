// Steady: watches the iterations of a loop until each is the one before, only later, and then leaves out the
// rest. What it leaves out is exactly what simulating would have given: every op of the last iterations kept
// its distance, for as many iterations as any of them looks back, and nothing from before the loop is still
// under way. Loops inside may have left iterations out themselves.
#pragma once

#include <vector>

#include "kiln/timing/core_model.h"
#include "kiln/timing/left_out.h"

namespace kiln::timing {

class Steady {
 public:
  Steady(CoreModel& core, isa::LoopId loop, LeftOut& left_out);
  ~Steady();
  Steady(const Steady&) = delete;

  // After each iteration, `left` more to come: how many of them to leave out.
  std::int64_t after_iteration(std::int64_t left);

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
  std::int64_t watch(std::int64_t left);
  void leave_out();
  void jump();
  std::int64_t leave_out_again(const Replay& outer);
  std::int64_t begin_replay();
  void in_replay();
  const std::vector<bool>& used_outside() const;

  CoreModel& core_;
  isa::LoopId loop_;
  LeftOut& left_out_;
  std::size_t depth_;        // among the loops that are watched
  Time horizon_;             // everything from before the loop is done by then
  std::vector<Mark> marks_;  // the beginning of each iteration, and of the next
  std::int64_t reach_ = 0;   // iterations that a dependency goes back, at most
  std::int64_t alike_[kPeriods + 1] = {};
  Time period_time_[kPeriods + 1] = {};
  Skip skip_{};
  bool over_ = false, own_replay_ = false;
  std::int64_t replay_left_ = 0;
  EventLog::Counts before_;  // the last repeated period
};

}  // namespace kiln::timing
