// Core: one NeuronCore that walks a program, resolves addresses, follows shadows in program order, and hands
// values to the task queue. It stops where it has to wait for the other core of a pair, and can be resumed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/analysis/lifetimes.h"
#include "kiln/isa/semantics/engine_state.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/sim/deposit.h"
#include "kiln/sim/machine.h"
#include "kiln/sim/race.h"
#include "kiln/sim/storage.h"
#include "kiln/sim/task.h"
#include "kiln/sim/tracker.h"

namespace kiln::sim {

// Tensors that several cores see: inputs, outputs and shared_hbm, by name.
using SharedTensors = std::map<std::string, Binding, std::less<>>;

// What the cores of a run have in common.
struct Common {
  TaskQueue& queue;
  RunReport& report;
  SharedTensors tensors = {};
  Origins origins = {};
  isa::WarningSink warnings = {};
  std::int64_t sequence = 0;  // instructions issued so far
  int cores = 1;
  std::set<std::string, std::less<>> written = {};  // shared tensors that some core may write, by name
  Races races = {};
  bool may_borrow = false;  // no buffer that is written lies over an input
};

class Core {
 public:
  // `rank`: its number among the cores of the run.
  Core(const isa::Program& program, const Arch& arch, const RunOptions& options, Common& common, int rank = 0);

  // Goes on until the program ends (true) or the core waits for its peer (false).
  bool advance();

  // The sendrecv or core_barrier that the core waits at, with its operands; null when it does not wait.
  const isa::Instruction* waiting_at() const { return waiting_; }
  std::vector<TrackedOperand>& operands() { return operands_; }
  void resume() { waiting_ = nullptr; }
  void met() { common_.races.meet(); }  // the cores stand at the same point now
  // Bytes that both cores wrote since the last meeting hold the same values.
  void check_agreement();
  const isa::Program& program() const { return program_; }
  Tracker tracker(const isa::Instruction& inst);

 private:
  struct Frame {
    const isa::Block* block;
    std::size_t next = 0;
    isa::LoopId loop = isa::kNone;
    std::int64_t iterations = 0;
  };

  // A load that was left out: the tensor is read where the input lies.
  struct Loan {
    const isa::Instruction* load = nullptr;
    std::int64_t sequence = 0;
    Binding own = {};
    isa::Tile to, from;
  };

  void bind_shared(isa::TensorId id);
  void bind_placed(isa::TensorId id);
  void declare(isa::TensorId id);
  void release(isa::TensorId id);
  void release_after(isa::LoopId loop, std::size_t position);
  std::shared_ptr<Storage> free_storage(isa::TensorId id);
  std::shared_ptr<Storage> make_storage(std::int64_t rows, std::int64_t row_bytes);
  void enter(isa::LoopId id);
  bool repeat(Frame& frame);
  bool goes_on(const isa::Loop& loop, isa::LoopId id);
  LoopCount& count_of(const isa::Loop& loop);
  std::int64_t bound(const isa::Bound& b, isa::LocId loc) const;
  void check_trip_count(const isa::Loop& loop) const;
  std::uint32_t read_register(isa::RegisterId id, isa::LocId loc) const;

  bool borrow(const isa::Run& run);
  void settle_written(const isa::Instruction& inst);
  void settle(isa::TensorId id);
  bool deposit(isa::TensorId id);
  bool is_deposited(const isa::Run& run);
  bool needs_tracking() const;
  void check_overlaps(const isa::Run& run) const;
  // Accesses that the other core does not expect; writes, which are fine when the values
  // agree, are kept for check_agreement.
  void check_races(const isa::Instruction& inst);
  // Of two writes that nothing orders: which one fills with zeros what the other one may scatter over.
  enum class Fill { none, ours, theirs, both };
  Fill fill_of(const isa::Instruction& inst, const TrackedOperand& written, const Races::Clash& clash) const;
  void keep_scattered(const TrackedOperand& operand, const Races::Clash& clash);
  void restore_scattered();
  bool is_raced_for(const isa::Tensor& t) const;
  bool is_row_update(const isa::Instruction& inst, const TrackedOperand& operand, const Races::Clash& clash) const;
  void warn_of_update(const isa::Instruction& inst, const TrackedOperand& operand, const Races::Clash& clash);
  [[noreturn]] void report_race(const isa::Instruction& inst, const TrackedOperand& operand,
                                const Races::Clash& clash) const;
  Diagnostic race_diagnostic(const isa::Instruction& inst, const Races::Clash& clash, std::string found) const;
  void warn_of_fill(const isa::Instruction& inst, const TrackedOperand& operand, const Races::Clash& clash, Fill fill);
  void execute(const isa::Instruction& inst);
  void show(isa::InstructionId id);
  void add_operands(isa::Run& run, const isa::Instruction& inst);
  void add_operand(isa::Run& run, int param, const isa::Access& access);
  void issue(isa::Run& run, unsigned state);
  void run_register_instruction(isa::Run& run, const isa::Instruction& inst);
  bool must_wait(unsigned state);
  void add_uses(const TaskRef& task, unsigned state);

  std::int64_t evaluate(const isa::Affine& affine) const;
  void resolve(isa::Tile& tile, const isa::Access& access, const isa::Run& run);
  void resolve_scalar(isa::Tile& tile, const isa::Access& access, std::int64_t value, const isa::Run& run);
  void check_start(const isa::Tile& tile, int param, const isa::Access& access, const isa::Run& run) const;
  void resolve_vector(isa::Tile& tile, const isa::Access& access, const isa::Access& index, const isa::Run& run);
  void resolve_indirect(isa::Tile& tile, const isa::Access& access, const isa::Access& index, const isa::Run& run);
  std::vector<std::int64_t> read_indices(const isa::Access& index, const isa::Run& run, std::int64_t group,
                                         std::int64_t count);
  bool skips_out_of_bounds(const isa::Run& run) const;
  [[noreturn]] void out_of_bounds(const isa::Run& run, const isa::Access& access, const std::string& what) const;

  const isa::Program& program_;
  const Arch& arch_;
  const RunOptions& options_;
  Common& common_;
  TaskQueue& queue_;
  const Kernels& kernels_;

  std::vector<Frame> frames_;
  std::vector<std::int64_t> loop_value_;
  std::vector<std::uint32_t> registers_;
  std::vector<bool> register_defined_;
  std::vector<Binding> bindings_;
  std::unordered_map<isa::TensorId, Loan> loans_;
  std::vector<std::vector<std::shared_ptr<Storage>>> pool_;  // storages of tensors that are declared again and again
  std::shared_ptr<Storage> placed_[2];                       // SBUF and PSUM of tensors with an address
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::shared_ptr<Storage>>> spare_;  // given back, by size
  std::int64_t spare_bytes_ = 0;
  std::optional<analysis::Lifetimes> lifetimes_;  // empty: storages are kept to the end
  Deposits deposits_;
  std::vector<isa::Shadow> origin_;
  TrackedState tracked_;
  isa::EngineState state_;
  TaskRef last_user_[4];  // of each StateBit
  std::vector<TrackedOperand> operands_;
  std::vector<std::shared_ptr<void>> keep_;  // offset tables of the instruction being issued
  bool compare_ = false;  // an operand of it moves, or lies where another tensor may: overlaps are compared now
  const isa::Instruction* waiting_ = nullptr;
  const int rank_;
  std::vector<bool> watched_;  // per instruction; empty when nothing is watched
  // A write to bytes that the other core touched since the last meeting, and what those bytes held.
  struct Rewrite {
    const isa::Instruction* inst;
    TrackedOperand operand;
    Races::Clash clash;
    std::vector<std::byte> before;
    bool both_fill;  // with zeros
  };
  std::vector<Rewrite> rewrites_;
  // What the other core scattered and the instruction being executed fills with zeros: it came later.
  struct Scattered {
    Storage* storage;
    ByteRanges ranges;
    std::vector<std::byte> bytes;
    std::vector<isa::Shadow> shadow;
  };
  std::vector<Scattered> scattered_;
};

}  // namespace kiln::sim
