// Core: one NeuronCore that walks a program and issues its instructions one by one. It stops where it has to wait
// for the other core of a pair, and can be resumed. Its parts have headers of their own; core.cpp says in what order
// an instruction goes through them.
#pragma once

#include <optional>

#include "kiln/analysis/lifetimes.h"
#include "kiln/isa/semantics/engine_state.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/sim/address_resolver.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/common.h"
#include "kiln/sim/deposit.h"
#include "kiln/sim/dispatch.h"
#include "kiln/sim/loan.h"
#include "kiln/sim/loop_stack.h"
#include "kiln/sim/machine.h"
#include "kiln/sim/operand.h"
#include "kiln/sim/postponed.h"
#include "kiln/sim/race_check.h"
#include "kiln/sim/registers.h"
#include "kiln/sim/storage_pool.h"
#include "kiln/sim/tracker.h"
#include "kiln/sim/watch.h"

namespace kiln::sim {

class Core {
 public:
  // `number`: its place among the cores of its rank.
  Core(const isa::Program& program, const Arch& arch, const RunOptions& options, Common& common, int number);
  Core(const Core&) = delete;  // its parts know each other
  Core& operator=(const Core&) = delete;

  // Goes on until the program ends (true) or the core waits for its peer, or for other ranks (false).
  bool advance();

  // The sendrecv, core_barrier or collective that the core waits at, with its operands; null when it does not wait.
  const isa::Instruction* waiting_at() const { return waiting_; }
  Operand& operand(int param);  // of the instruction that it waits in
  std::vector<Operand>& operands() { return operands_.list; }
  void resume() { waiting_ = nullptr; }
  // Bytes that both cores wrote since the last meeting hold the same values.
  void check_agreement() { races_.check_agreement(); }
  const isa::Program& program() const { return program_; }
  isa::Pass pass() const { return loops_.pass(); }
  Tracker tracker(const isa::Instruction& inst);

 private:
  bool go_on();
  void declare(isa::TensorId id);
  void release_after(isa::LoopId loop, std::size_t position);
  void execute(const isa::Instruction& inst);
  Soon read_soon() const;
  void count(Engine engine);
  isa::Run start_run(const isa::InstView& view, Engine engine);
  void touch_destinations();
  void repay_written(const isa::Instruction& inst);
  bool replaces(const isa::InstView& view, int param) const;
  void repay(isa::TensorId id);
  void settle(const isa::Instruction& inst);
  void copy_now(isa::TensorId id);
  void copy(const isa::Instruction& load, std::int64_t sequence, const isa::Tile& to, const isa::Tile& from);
  void follow_shadows(isa::Run& run);
  bool needs_tracking() const;
  bool needs_no_copy(const isa::Run& run);
  void show(isa::InstructionId id);

  const isa::Program& program_;
  const Arch& arch_;
  Common& common_;
  const Kernels& kernels_;

  Registers registers_;
  LoopStack loops_;
  Bindings bindings_;
  StoragePool pool_;
  std::optional<analysis::Lifetimes> lifetimes_;  // empty: storages are kept to the end
  Loans loans_;
  Postponed postponed_;
  Deposits deposits_;
  AddressResolver resolver_;
  RaceCheck races_;
  Dispatch dispatch_;
  Watch watch_;
  unsigned kept_state_;  // by program order; with one thread all of it

  TrackedState tracked_;
  isa::EngineState state_;
  Operands operands_;                          // of the instruction being issued
  std::vector<Lent> lent_;                     // tensors that it replaces
  const isa::Instruction* current_ = nullptr;  // null between statements
  const isa::Instruction* waiting_ = nullptr;
};

}  // namespace kiln::sim
