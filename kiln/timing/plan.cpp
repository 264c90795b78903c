#include "kiln/timing/plan.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "kiln/analysis/spread_rows.h"
#include "kiln/analysis/statements.h"
#include "kiln/base/memory_limit.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/uses.h"
#include "kiln/timing/box_shapes.h"
#include "kiln/timing/plan_compute.h"
#include "kiln/timing/plan_dma.h"
#include "kiln/timing/plan_tensor.h"

namespace kiln::timing {
using namespace isa;

namespace {

// Of what tells most kinds apart.
std::size_t hash_of(const Op& op) {
  std::size_t h = static_cast<std::size_t>(op.engine);
  for (const Time t : {op.latency, op.interval, op.transfer, op.load})
    h = (h ^ static_cast<std::size_t>(t)) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 32 ^ static_cast<std::size_t>(op.hbm_read);
}

class Planner {
 public:
  Planner(const Program& program, const Arch& arch, const ProgramChange& change)
      : program_(program), arch_(arch), change_(change), shapes_(program) {}
  Plan make();

 private:
  void find_induction_registers();
  void find_written();
  Op plan(InstructionId id);
  void add_uses(Op& op, const InstView& inst);
  void add_use(const Access& access, bool reads, bool writes, bool stationary);
  std::size_t count_uses() const;
  void note_firsts();
  void share_ports();
  void read_in_psum();
  void give_turns();
  Merge merge_of(InstructionId id) const;

  const Program& program_;
  const Arch& arch_;
  const ProgramChange& change_;
  std::optional<Program> seen_;  // the program with spread rows in PSUM, when that makes a difference
  std::vector<bool> left_out_;   // by instruction: copies of spread rows; empty: none
  std::vector<bool> merged_;     // by instruction; empty: none
  std::vector<bool> early_;
  BoxShapes shapes_;
  std::vector<int> turns_;  // by instruction: loads that leave their queue open take turns; empty: none does
  Plan plan_;
};

void Planner::find_induction_registers() {
  plan_.loop_of_register.assign(program_.registers.size(), kNone);
  for (LoopId id = 0; id < program_.loops.size(); ++id) {
    if (program_.loops[id].kind == Loop::Kind::dynamic_for) plan_.loop_of_register[program_.loops[id].reg] = id;
  }
}

void Planner::find_written() {
  plan_.tracked.assign(program_.tensors.size(), false);
  for (const Instruction& inst : program_.instructions) {
    const auto& params = info(inst.opcode).params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const Arg& arg = program_.arg(inst, static_cast<int>(i));
      const bool one = arg.kind == Arg::Kind::access;
      const bool loads = static_cast<int>(i) == InstView(program_, inst).facts().stationary;  // known again: Loaded
      if ((!params[i].is_output() && !loads) || (!one && arg.kind != Arg::Kind::accesses)) continue;
      for (std::uint32_t k = 0; k < (one ? 1 : arg.count); ++k)
        plan_.tracked[program_.accesses[arg.index + k].tensor] = true;
    }
  }
}

void Planner::add_use(const Access& access, bool reads, bool writes, bool stationary) {
  bool uncertain = false;
  bool moves = access.partition.term_count || access.offset.term_count;
  if (access.dynamic != kNone) {
    const Dynamic& d = program_.dynamics[access.dynamic];
    if (d.kind == Dynamic::Kind::scalar_register) {
      plan_.registers.push_back(d.source);
      uncertain = plan_.loop_of_register[d.source] == kNone;
      moves = true;
    } else {
      add_use(program_.accesses[d.source], true, false, false);
      uncertain = true;
    }
  }
  if (!plan_.tracked[access.tensor]) return;
  const std::uint32_t shape = shapes_.find(access);
  if (shape > kMostShapes) require_memory(std::numeric_limits<double>::max(), 0, "shapes of accesses");
  plan_.uses.push_back({static_cast<std::uint32_t>(&access - program_.accesses.data()), shape & kMostShapes, reads,
                        writes, !moves && !uncertain, uncertain, stationary});
}

void Planner::add_uses(Op& op, const InstView& inst) {
  const auto& params = inst.row().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const int param = static_cast<int>(i);
    const Arg& arg = inst.arg(param);
    if (arg.kind == Arg::Kind::reg) {
      if (param == inst.facts().sets_register) {
        op.writes_register = arg.index;
      } else {
        plan_.registers.push_back(arg.index);
      }
      continue;
    }
    const bool one = arg.kind == Arg::Kind::access;
    if (!one && arg.kind != Arg::Kind::accesses) continue;
    const bool stationary = op.engine == Engine::tensor && param == inst.facts().stationary;
    for (std::uint32_t k = 0; k < (one ? 1 : arg.count); ++k)
      add_use(program_.accesses[arg.index + k], params[i].is_input(), params[i].is_output(), stationary);
  }
}

// At most so many: there may be millions, and no room for half as many more.
std::size_t Planner::count_uses() const {
  std::size_t count = 0;
  for (const Instruction& inst : program_.instructions)
    for_each_use(program_, inst, [&](const Access& access, isa::Use) { count += plan_.tracked[access.tensor]; });
  return count;
}

// Where the uses and registers of the next instruction begin.
void Planner::note_firsts() {
  plan_.first_use.push_back(static_cast<std::uint32_t>(plan_.uses.size()));
  if (!program_.registers.empty()) plan_.first_register.push_back(static_cast<std::uint32_t>(plan_.registers.size()));
}

Merge Planner::merge_of(InstructionId id) const {
  if (merged_.empty() || !merged_[id]) return {};
  return {change_.merge, change_.same_bytes ? change_.merge : 1};
}

Op Planner::plan(InstructionId id) {
  const InstView inst(program_, program_.instructions[id]);
  const Program& costs = seen_ ? *seen_ : change_.costs ? *change_.costs : program_;
  const CostQuery q(costs, costs.instructions[id], arch_);
  Op op;
  op.engine = q.engine();
  op.stream = stream_of(op.engine);
  op.meets = inst.facts().meets;
  op.early = !early_.empty() && early_[id];
  op.crosses = inst.facts().collective != nullptr;
  if (op.engine == Engine::dma) {
    plan_dma(op, q, merge_of(id), turns_.empty() ? 0 : turns_[id]);
  } else if (op.engine == Engine::tensor && !op.meets) {
    plan_tensor(op, q);
  } else {
    plan_compute(op, q);
    if (!left_out_.empty() && left_out_[id]) op.latency = op.interval = 0, op.ports = kNoPort;
  }
  const Semantics& semantics = *q.row().semantics;
  if (semantics.state) op.state = semantics.state(q);
  add_uses(op, inst);
  return op;
}

// A port that only one of its engines uses is no port to wait for.
void Planner::share_ports() {
  for (int p = 0; p < kPortCount; ++p) {
    unsigned users = 0;
    for (const Op& op : plan_.ops.kinds()) {
      if (op.ports >> p & 1) users |= 1u << static_cast<int>(op.engine);
    }
    if (users & (users - 1)) continue;
    for (Op& op : plan_.ops.kinds()) op.ports &= static_cast<std::uint16_t>(~(1u << p));
  }
}

// Gen2's vector engine takes two tiles twice as fast when one of them is in PSUM, so the compiler leaves
// spread rows there.
void Planner::read_in_psum() {
  if (arch_.features.vector_fast_modes) return;
  for (const analysis::SpreadRow& row : analysis::find_spread_rows(program_)) {
    if (!seen_) {
      seen_ = change_.costs ? *change_.costs : program_;
      left_out_.resize(program_.instructions.size());
      plan_.spread.resize(program_.tensors.size());
    }
    seen_->tensors[row.tile].memory = Memory::psum;
    left_out_[row.copying] = plan_.spread[row.tile] = true;
  }
}

void Planner::give_turns() {
  int turn = 0;
  analysis::for_each_statement(program_, [&](const analysis::Statement& s) {
    if (!s.is_instruction() || !program_.instructions[s.node.index].left_open) return;
    const InstView inst(program_, program_.instructions[s.node.index]);
    if (inst.in_hbm(inst.row().result)) return;
    turns_.resize(program_.instructions.size());
    turns_[s.node.index] = turn++;
  });
}

Plan Planner::make() {
  give_turns();
  find_induction_registers();
  find_written();
  read_in_psum();
  if (!change_.merged.empty()) merged_.resize(program_.instructions.size());
  for (InstructionId id : change_.merged) merged_[id] = true;
  if (!change_.early.empty()) early_.resize(program_.instructions.size());
  for (InstructionId id : change_.early) early_[id] = true;
  plan_.ops.reserve(program_.instructions.size());
  plan_.uses.reserve(count_uses());
  plan_.first_use.reserve(program_.instructions.size() + 1);
  if (!program_.registers.empty()) plan_.first_register.reserve(program_.instructions.size() + 1);
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    note_firsts();
    plan_.ops.push_back(plan(id));
  }
  note_firsts();
  plan_.shapes = std::move(shapes_.all());
  share_ports();
  for (const Op& op : plan_.ops.kinds()) plan_.uses_stream[static_cast<int>(op.stream)] = true;
  for (int s = 0; s < kStreamCount; ++s)
    plan_.semaphore[s] = from_ns(arch_.engine(engine_of(static_cast<Stream>(s))).semaphore_ns);
  plan_.dma_done = from_ns(arch_.dma.completion_ns);
  return std::move(plan_);
}

}  // namespace

void Ops::push_back(const Op& op) {
  const auto [begin, end] = known_.equal_range(hash_of(op));
  const auto same = std::find_if(begin, end, [&](const auto& known) { return kinds_[known.second] == op; });
  if (same != end) return kind_.push_back(same->second);
  kind_.push_back(static_cast<std::uint32_t>(kinds_.size()));
  known_.emplace(hash_of(op), kind_.back());
  kinds_.push_back(op);
}

Plan make_plan(const Program& program, const Arch& arch, const ProgramChange& change) {
  return Planner(program, arch, change).make();
}

}  // namespace kiln::timing
