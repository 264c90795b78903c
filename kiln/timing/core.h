// Core: one NeuronCore as the model sees it. It takes executed instructions in program order, finds what each
// has to wait for, and gives it a place on its lane.
#pragma once

#include <atomic>
#include <vector>

#include "kiln/timing/plan.h"
#include "kiln/timing/pool.h"
#include "kiln/timing/regions.h"
#include "kiln/timing/server.h"
#include "kiln/timing/simulate.h"
#include "kiln/timing/turns.h"

namespace kiln::timing {

// When an executed instruction begins and when its results are there.
struct OpTimes {
  Time start = 0, end = -1;
  EventId event = isa::kNone;
  std::uint8_t stream = 0;
  bool transfer = false;
};

// What is counted while events are made.
struct Totals {
  std::int64_t instructions = 0;
  double hbm_read = 0, hbm_written = 0, macs = 0, flops = 0;
};

// A tensor's stay in memory, for the picture of memory over time.
struct Life {
  std::int64_t bytes;
  bool psum;
  OpId first;
  Users users;
};

class Core {
 public:
  Core(const isa::Program& program, const Arch& arch, const TimingOptions& options, int number, bool pair);

  const isa::Program& program() const { return program_; }
  std::vector<std::int64_t>& loop_values() { return loop_value_; }

  void expect(double instructions);  // about so many will be executed
  void declare(isa::TensorId id);
  // `for_good`: it is not declared again.
  void release(isa::TensorId id, bool for_good);
  void execute(isa::InstructionId id);
  void finish();  // issues what the list scheduler still holds back
  // One turn of a dynamic loop: every sequencer evaluates the condition.
  void turn(const isa::Loop& loop);

  // No instruction to come belongs to this stream. The list scheduler may still hold some back.
  void retire(Stream stream) { retired_[static_cast<int>(stream)] = !reorder_; }
  Stream stream_of(isa::InstructionId id) const { return plan_.ops[id].stream; }

  // A sendrecv or core_barrier: when this core is ready for it, and what follows once both are.
  bool meets(isa::InstructionId id) const { return plan_.ops[id].meets; }
  Time arrive(isa::InstructionId id);
  void meet(Time at);

  // Everything that later instructions can see of the past, for steady loops.
  std::size_t op_count() const { return times_.size(); }
  const OpTimes& times(OpId op) const { return times_[op]; }

  std::vector<Event> events;
  std::vector<Lane> lanes;
  std::vector<Life> lives;
  Totals totals;
  Coverage transfers;
  Time last_end = 0;
  std::uint32_t top_loop = 0;  // loops outside all others that were begun

 private:
  friend class Steady;
  struct StreamState {
    Time free = 0;
    Time turn = 0;  // of that, spent on the condition of a dynamic loop
    EventId last = isa::kNone;
    std::vector<Time> in_flight;  // ends of DMAs, as a ring
    std::size_t next = 0;
  };
  struct Issue {
    isa::InstructionId inst;
    OpId op;
    std::vector<Dependency> deps;        // of everything but
    std::vector<Dependency> early;       // the stationary operand
    std::vector<std::uint32_t> stays;    // list scheduler: tensors in memory that it uses
    std::vector<std::uint32_t> waiters;  // list scheduler: places of those that wait for it
    std::uint32_t missing = 0;           // list scheduler: dependencies that have no time yet
    Time known = 0;                      // list scheduler: when all of them are done
  };
  struct Ready {
    Time at;
    Wait wait;
    EventId because;
    void later(Time t, Wait w, EventId b) {
      // What it reads counts before what it overwrites, when both come at once.
      const bool overwrites = wait == Wait::rewrite || wait == Wait::overwrite;
      if (t > at || (t == at && w == Wait::read && overwrites)) *this = {t, w, b};
    }
  };
  // List scheduler: a tensor's stay in memory, from the first instruction that is started to the last.
  struct Stay {
    std::int64_t bytes;
    bool psum;
    bool taken = false, closed = false;
    std::uint32_t waiting = 0;  // instructions that use it and have not started
    Time end = 0;
    EventId last = isa::kNone;
  };
  struct Instance {
    Users users = kNoUsers;
    OpId first = kNoOp;
    std::vector<OpId> before;         // users of its memory before it
    std::uint32_t stay = isa::kNone;  // index into stays_
    // List scheduler, HBM: who writes it in the loop of now, and wrote it in loops before.
    std::vector<OpId> writers, earlier_writers;
    std::uint32_t loop = 0;
  };

  Regions& regions(isa::TensorId id) { return regions_[region_of_[id]]; }
  Box box_of(const Use& use) const;
  std::int64_t evaluate(const isa::Affine& affine) const;
  std::int64_t pool_bytes(isa::TensorId id) const;
  bool in_psum(isa::TensorId id) const {
    return program_.tensors[id].memory == Memory::psum || (!plan_.spread.empty() && plan_.spread[id]);
  }
  Pool& pool(isa::TensorId id) { return pools_[in_psum(id)]; }
  void find_dependencies(Issue& issue, const Op& op);
  void touch(Issue& issue, const Op& op, const Use& use);
  bool updates(const Op& op, const Use& use) const;
  void wait_for_loops(Instance& instance, const Issue& issue, const Use& use, std::vector<Dependency>& out);
  void add_state(Issue& issue, const Op& op);
  void note_oldest(const Issue& issue);
  void add_ramp(const Use& use, const Box& box, OpId op);

  void commit(const Issue& issue);
  void hold_back();
  void commit_best();
  Time estimate(const Issue& issue, bool oldest) const;
  void make_ready(std::uint32_t place);
  Ready with_memory(Ready r, const Issue& issue) const;
  void take_memory(const Issue& issue);
  void give_memory(const Issue& issue);
  void leave(Stay& stay);
  Ready ready(const Ready& from, const std::vector<Dependency>& deps, int stream) const;
  void replay(const Issue& issue, const Op& op);
  void run_compute(const Issue& issue, const Op& op, Ready r);
  void run_tensor(const Issue& issue, const Op& op, Ready r);
  void run_dma(const Issue& issue, const Op& op, Ready r);
  EventId emit(const Event& event);
  LaneId queue_lane(Time start);
  void done(const Issue& issue, const Op& op, Time start, Time end, EventId event);
  void forget();
  Time earliest_start() const;
  // The streams in `used` go on `count` periods later; everything before `complete` is known.
  void jump(unsigned used, Time complete, Time period, std::int64_t count);

  const isa::Program& program_;
  const Arch& arch_;
  const TimingOptions& options_;
  int number_;
  bool pair_;  // the other core takes half of the HBM stack
  Plan plan_;
  std::vector<std::int64_t> loop_value_;

  std::vector<Regions> regions_;          // one per tensor; tensors with an address share one per memory
  std::vector<std::uint32_t> region_of_;  // by tensor
  std::vector<Instance> instances_;       // by tensor
  std::vector<Turns> turns_;
  std::vector<std::uint32_t> turns_of_;  // by tensor, into turns_; empty: no tensor has any
  Pool pools_[2];                        // SBUF, PSUM

  double expected_ = 0;  // executed instructions
  std::vector<OpTimes> times_;
  std::vector<OpId> last_op_of_;  // by instruction, when the program has explicit dependencies
  std::vector<OpId> register_writer_;
  std::vector<std::vector<OpId>> register_readers_;
  OpId state_user_[4] = {kNoOp, kNoOp, kNoOp, kNoOp};

  StreamState streams_[kStreamCount];
  bool retired_[kStreamCount] = {};
  Server dma_, ports_[kPortCount], units_[kUnitCount];
  Time array_free_[16] = {};  // tensor engine: quadrants
  Time array_start_ = 0;      // of the last matmul
  Time heat_ = 0, cooled_at_ = 0;
  bool warm_;
  int table_ = -1;
  std::vector<Time> queue_free_;
  std::vector<LaneId> queue_lanes_;
  std::vector<Time> active_until_;  // by lane

  bool reorder_;
  std::vector<Issue> issues_;                       // list scheduler: those that wait, in places that are used again
  std::vector<std::uint32_t> spare_;                // free places
  std::vector<std::uint32_t> place_of_;             // by op
  std::vector<std::uint32_t> ready_[kStreamCount];  // places of those that only wait for their turn
  OpId oldest_op_ = 0;                              // that waits
  std::size_t held_ = 0;
  std::vector<Stay> stays_;
  TimedPool timed_[2];
  Issue scratch_, meeting_;

  // Steady loops: ops whose times are those of earlier ones, moved.
  struct Replay {
    bool on = false;
    OpId ops = 0;             // distance to the op that it repeats
    EventId events = 0;       // distance to its event
    EventId first_event = 0;  // earlier ones are not repeated
    Time by = 0;
    // For those who come after the loop: its left-out iterations, one every `period`.
    isa::LoopId ramp_loop = isa::kNone;
    std::int64_t ramp_stride = 0, ramp_count = 0;  // of the loop variable between two of them
    Time ramp_period = 0;
    std::vector<bool> outside;  // tensors that are used outside the loop
  } replay_;
  OpId oldest_ = kNoOp;      // that a dependency since the last mark went back to
  OpId loop_begin_ = kNoOp;  // dependencies on earlier ops do not count for it
  bool stale_ = false;       // memory from before the loop was taken since the last mark
};

}  // namespace kiln::timing
