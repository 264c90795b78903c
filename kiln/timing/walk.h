// Walk: executes a program's statements in order on a CoreModel, loops and all, and can stop where two cores meet.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "kiln/analysis/lifetimes.h"
#include "kiln/timing/core_model.h"
#include "kiln/timing/left_out.h"
#include "kiln/timing/loop_plan.h"
#include "kiln/timing/steady.h"

namespace kiln::timing {

class Walk {
 public:
  Walk(CoreModel& core, const TimingOptions& options, int number, bool pair);

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
  void take();
  void after(isa::LoopId loop, std::size_t position);
  void set_variables(const Frame& frame);

  CoreModel& core_;
  const isa::Program& program_;
  bool pair_;
  std::int64_t limit_, taken_ = 0;  // instructions of loops
  Time give_up_after_ = std::numeric_limits<Time>::max();
  LoopPlan loops_;
  analysis::Lifetimes lifetimes_;
  std::size_t last_use_[kStreamCount] = {};  // by stream: the last statement of the program's body that needs it
  std::vector<Frame> frames_;
};

}  // namespace kiln::timing
