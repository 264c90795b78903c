// CoreModel: one NeuronCore as the model sees it. It takes executed instructions in program order, lets its parts say
// what each has to wait for, and gives it a place on its lane.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "kiln/timing/compute_unit.h"
#include "kiln/timing/dependencies.h"
#include "kiln/timing/dma_unit.h"
#include "kiln/timing/event_log.h"
#include "kiln/timing/list_scheduler.h"
#include "kiln/timing/loop_reach.h"
#include "kiln/timing/plan.h"
#include "kiln/timing/progress.h"
#include "kiln/timing/simulate.h"
#include "kiln/timing/tensor_array.h"
#include "kiln/timing/tensor_memory.h"

namespace kiln::timing {

// A tensor's time in memory, for the picture of memory over time: from the start of an event to the end of one.
struct Life {
  isa::TensorId tensor;
  EventId begin, end;
};

// What an iteration of a loop leaves behind besides the times of its instructions.
struct LoopState {
  Time heat;
  int table;
  std::array<std::int64_t, 2> unused;  // memory
  bool operator==(const LoopState&) const = default;
};

// Ops whose times are those of earlier ones, moved.
struct Replay {
  OpId ops;                 // distance to the op that is repeated
  EventId events;           // distance to its event
  EventId first_event;      // earlier ones are not repeated
  EventId steady_event;     // from here on events stand for left-out iterations too:
  std::int64_t stands_for;  // for so many
  Time by;
};

// What a collective has of the links that ranks of other groups use too.
struct LinkTurn {
  Time from = 0;    // they are free
  double part = 1;  // of what all groups of the instruction would send at once
};

class CoreModel {
 public:
  // `pair`: the other core takes half of the HBM stack. `prefix`: of the names of lanes.
  CoreModel(const isa::Program& program, const Arch& arch, const TimingOptions& options, int number, bool pair,
            const std::string& prefix);
  CoreModel& operator=(const CoreModel&) = delete;
  // One more core, which has come as far as this one.
  std::unique_ptr<CoreModel> fork() const;

  const isa::Program& program() const { return program_; }
  const Plan& plan() const { return plan_; }
  const Progress& progress() const { return progress_; }
  EventLog& log() { return log_; }
  const EventLog& log() const { return log_; }
  std::vector<Life> take_lives() { return std::move(lives_); }

  // The statements of the program, as they are executed.
  void expect(double instructions);  // about so many will be executed
  void declare(isa::TensorId id);
  void release(isa::TensorId id, bool for_good);  // `for_good`: it is not declared again
  void execute(isa::InstructionId id);
  void finish();               // starts what the list scheduler still holds back
  void retire(Stream stream);  // no instruction to come belongs to this stream
  void begin_outermost_loop() { dependencies_.begin_outermost_loop(); }
  void set_loop(isa::LoopId loop, std::int64_t value) { dependencies_.set_loop(loop, value); }
  void turn(const isa::Loop& loop);                      // of a dynamic loop: every sequencer evaluates the condition
  void turn_again(const isa::Loop& loop, double count);  // so often, with nothing in between

  // A sendrecv, core_barrier or collective: when this core is ready for it, and what follows once all are.
  bool meets(isa::InstructionId id) const { return plan_.ops[id].meets; }
  Time arrive(isa::InstructionId id);
  void meet(Time at, const LinkTurn& turn = {});

  // Steady loops: what later instructions can see of the past, and iterations that are left out.
  LoopReach& reach() { return reach_; }
  LoopState loop_state() const { return {array_.heat(), compute_.table(), memory_.unused()}; }
  // The streams in `used` go on `count` periods later; everything before `complete` is known.
  void jump(unsigned used, Time complete, Time period, std::int64_t count);
  void begin_replay(const Replay& replay) { replay_ = replay; }
  const Replay* replay() const { return replay_ ? &*replay_ : nullptr; }  // of the outermost loop that is repeated
  void end_replay() { replay_.reset(); }
  void begin_ramps(LoopRamp ramp) { dependencies_.begin_ramps(std::move(ramp)); }
  void end_ramps() { dependencies_.end_ramps(); }

 private:
  CoreModel(const CoreModel&) = default;
  const Op& begin(Issue& issue, isa::InstructionId id);
  void start(const Issue& issue, const Ready& known);
  void start_next();
  void repeat(const Issue& issue, const Op& op);
  void run_compute(const Issue& issue, const Op& op, const Ready& ready);
  void run_tensor(const Issue& issue, const Op& op, const Ready& ready);
  void run_dma(const Issue& issue, const Op& op, const Ready& ready, DmaUnit::Others others = {});
  Event event_of(const Issue& issue, const Op& op, const Ready& start, Kind kind);
  EventId emit(const Event& event);
  void done(const Issue& issue, const Op& op, EventId event);
  void forget();
  // A tensor of which the first and the last users are known, but perhaps not yet their times.
  struct Stay {
    isa::TensorId tensor;
    OpId first;
    Users users;
  };
  void add_life(const Stay& stay);

  const isa::Program& program_;
  const Arch& arch_;
  const TimingOptions& options_;
  int number_;
  bool reorder_;
  std::shared_ptr<const Plan> own_plan_;  // the same in forks
  const Plan& plan_;
  double expected_ = 0;  // executed instructions

  EventLog log_;
  Progress progress_;
  Dependencies dependencies_;
  TensorMemory memory_;
  ListScheduler scheduler_;
  ComputeUnit compute_;
  TensorArray array_;
  DmaUnit dma_;
  std::vector<Life> lives_;
  std::vector<Stay> ended_;  // with users that the list scheduler holds back, or that wait for another core
  Issue now_, meeting_;
  Ready arrived_{};  // at the meeting
  LoopReach reach_;
  std::optional<Replay> replay_;
};

}  // namespace kiln::timing
