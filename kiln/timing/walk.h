// Walk: executes a program's statements in order on a CoreModel, loops and all, and can stop where two cores meet.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "kiln/analysis/lifetimes.h"
#include "kiln/base/function_ref.h"
#include "kiln/timing/core_model.h"
#include "kiln/timing/left_out.h"
#include "kiln/timing/loop_plan.h"
#include "kiln/timing/steady.h"

namespace kiln::timing {

class Walk {
 public:
  Walk(CoreModel& core, const TimingOptions& options, int number, bool pair);

  // On a fork of the other walk's core, from where that one is: at the end of a loop, which goes round `passes` times
  // in this one. No loop is watched.
  Walk(const Walk& other, CoreModel& core, isa::LoopId loop, std::int64_t passes);

  // Calls `at_end` where a loop of these ends for the first time, before the walk leaves it.
  void tell_of(std::vector<isa::LoopId> loops, FunctionRef<void(isa::LoopId)> at_end) {
    told_of_ = std::move(loops);
    at_end_ = at_end;
  }
  double executed() const { return loops_.executed(); }  // instructions, in all
  // Asks after so many ops, and after every so many more, whether to go on.
  void ask(OpId after, OpId every, FunctionRef<bool()> goes_on) {
    ask_after_ = after;
    ask_every_ = every;
    goes_on_ = goes_on;
  }
  // Of a walk that began where another one was: how many ops the longer loop adds, if nothing repeats that loop.
  std::optional<OpId> added_ops() const { return added_ops_; }

  // Goes on until the program ends (true) or a sendrecv or core_barrier is reached (false).
  bool advance();

  // Ends the walk as soon as anything is under way after `limit`: a longer run is of no use to whoever asks.
  void give_up_after(Time limit) { give_up_after_ = limit; }
  bool gave_up() const { return core_.progress().last_end() > give_up_after_; }

  isa::InstructionId meeting = isa::kNone;  // where it stopped
  Time arrival = 0;                         // and when the core is ready for it
  std::vector<TripCount> trip_counts;
  LeftOut left_out;

 private:
  struct Frame {
    const isa::Block* block;
    isa::LoopId loop;
    std::size_t next = 0;
    std::int64_t iteration = 0, count = 1;
    OpId first_op = 0;                    // of the loop
    std::vector<isa::LoopId> chain = {};  // of loops that go round as one, `loop` being the last; empty: it is alone
    std::unique_ptr<Steady> steady = {};
  };
  void enter(isa::LoopId id);
  double idle(isa::LoopId id);
  bool repeat(Frame& frame);
  void tell(const Frame& frame);
  void take();
  void after(isa::LoopId loop, std::size_t position);
  void set_variables(const Frame& frame);

  CoreModel& core_;
  const isa::Program& program_;
  bool pair_;
  std::int64_t limit_, taken_ = 0;  // instructions of loops
  Time give_up_after_ = std::numeric_limits<Time>::max();
  LoopPlan loops_;
  std::shared_ptr<const analysis::Lifetimes> lifetimes_;
  std::size_t last_use_[kStreamCount] = {};  // by stream: the last statement of the program's body that needs it
  std::vector<Frame> frames_;
  std::vector<isa::LoopId> told_of_;
  std::optional<FunctionRef<void(isa::LoopId)>> at_end_;
  OpId ask_after_ = kNoOp, ask_every_ = 0;
  std::optional<FunctionRef<bool()>> goes_on_;
  std::optional<OpId> added_ops_;
};

}  // namespace kiln::timing
