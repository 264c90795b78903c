#include "kiln/vendor/balance.h"

#include <algorithm>
#include <array>

#include "kiln/isa/semantics/cost.h"
#include "kiln/rewrite/edit.h"
#include "kiln/rewrite/move_engine.h"
#include "kiln/vendor/trace.h"

namespace kiln::vendor {
using namespace isa;

namespace {

class Balancer {
 public:
  Balancer(Program& program, const Arch& arch) : p_(program), arch_(arch) {}
  std::int64_t run();
  bool might_move(InstructionId id);

 private:
  bool is_open(const Instruction& inst) const;
  bool becomes_function(InstructionId id);
  bool fits_scalar(InstructionId id);
  bool is_fill(InstructionId id) const;
  double time_on(InstructionId id, Engine engine);
  void place(InstructionId id);

  Program& p_;
  const Arch& arch_;
  double busy_[2] = {};  // vector, scalar
  double filling_ = 0;   // gpsimd
  std::int64_t moved_ = 0;
};

// The instruction that applies a function of the scalar engine.
Opcode function_opcode() {
  const auto rows = all_instructions();
  const auto found = std::find_if(rows.begin(), rows.end(), [](const InstructionInfo& row) {
    return row.semantics->facts.argument >= 0 && row.find_param(AttrType::ActFn) >= 0;
  });
  return static_cast<Opcode>(found - rows.begin());
}

// Computes with a function of the scalar engine what the vector engine takes longer for, its table of functions
// included.
bool Balancer::becomes_function(InstructionId id) {
  const InstView inst(p_, p_.instructions[id]);
  const Facts& facts = inst.facts();
  if (!facts.function || !facts.function(inst)) return false;
  static const Opcode opcode = function_opcode();
  const InstructionInfo& row = info(opcode);
  const Instruction before = inst.inst();
  Instruction made = before;
  const Arg dst = inst.arg(inst.row().result), data = inst.arg(facts.of_function);
  const auto function = static_cast<std::int64_t>(*facts.function(inst));
  made.opcode = opcode;
  made.first_arg = rewrite::default_instruction(p_, opcode, made.loc).first_arg;
  rewrite::arg_of(p_, made, row.result) = dst;
  rewrite::arg_of(p_, made, row.semantics->facts.argument) = data;
  rewrite::arg_of(p_, made, row.find_param(AttrType::ActFn)) = rewrite::enumerator(function);
  const double on_vector = time_on(id, Engine::vector);
  p_.instructions[id] = made;
  if (time_on(id, Engine::scalar) + arch_.timing.table_load_ns < on_vector) return true;
  p_.instructions[id] = before;
  return false;
}

bool Balancer::is_open(const Instruction& inst) const {
  const int param = info(inst.opcode).engine_param;
  if (param < 0) return false;
  const Arg& arg = p_.arg(inst, param);
  return arg.kind == Arg::Kind::none || static_cast<Engine>(arg.integer) == Engine::unknown;
}

bool Balancer::fits_scalar(InstructionId id) {
  const InstView inst(p_, p_.instructions[id]);
  if (inst.facts().multiply_add && inst.facts().multiply_add(inst)) return true;
  // Where the instruction itself has no such form, the identity function does the same.
  const int from = inst.facts().copies;
  return from >= 0 && is_float(inst.dtype(from)) && is_float(inst.dtype(inst.row().result));
}

// Writes a tile in SBUF and reads none.
bool Balancer::is_fill(InstructionId id) const {
  bool fills = true;
  for_each_use(p_, p_.instructions[id], [&](const Access& access, Use use) {
    fills &= use == Use::write && p_.tensors[access.tensor].memory == Memory::sbuf;
  });
  return fills;
}

double Balancer::time_on(InstructionId id, Engine engine) {
  const Instruction inst = p_.instructions[id];
  const int param = info(inst.opcode).engine_param;
  const Arg before = param < 0 ? Arg{} : p_.arg(inst, param);
  if (param >= 0) rewrite::move_to_engine(p_, {&id, 1}, engine);
  const double cycles = cost_of(p_, inst, arch_, true).cycles;
  if (param >= 0) rewrite::arg_of(p_, inst, param) = before;
  const EngineSpec& spec = arch_.engine(engine);
  return cycles / spec.clock_ghz + spec.interval_ns;
}

void Balancer::place(InstructionId id) {
  if (becomes_function(id)) ++moved_;
  const Instruction& inst = p_.instructions[id];
  const Engine engine = resolve_engine(InstView(p_, inst), arch_);
  if (engine != Engine::vector && engine != Engine::scalar) return;
  if (engine == Engine::vector && is_open(inst) && is_fill(id) &&
      !rewrite::movable(p_, {&id, 1}, Engine::gpsimd, arch_).empty()) {
    const double there = filling_ + time_on(id, Engine::gpsimd);
    if (there <= busy_[0] + time_on(id, Engine::vector)) {
      rewrite::move_to_engine(p_, {&id, 1}, Engine::gpsimd);
      filling_ = there;
      ++moved_;
      return;
    }
  }
  if (engine == Engine::vector && is_open(inst) && fits_scalar(id)) {
    const double on_vector = busy_[0] + time_on(id, Engine::vector), on_scalar = busy_[1] + time_on(id, Engine::scalar);
    if (on_scalar <= on_vector) {
      rewrite::move_to_engine(p_, {&id, 1}, Engine::scalar);
      busy_[1] = on_scalar;
      ++moved_;
      return;
    }
  }
  busy_[engine == Engine::scalar] += time_on(id, engine);
}

bool Balancer::might_move(InstructionId id) {
  const InstView inst(p_, p_.instructions[id]);
  if (inst.facts().function && inst.facts().function(inst)) return true;
  return is_open(inst.inst()) && resolve_engine(inst, arch_) == Engine::vector && (is_fill(id) || fits_scalar(id));
}

std::int64_t Balancer::run() {
  for (const Node& node : p_.body) {
    if (node.kind == Node::Kind::loop) return moved_;
    if (node.kind == Node::Kind::instruction) place(node.index);
  }
  return moved_;
}

}  // namespace

std::int64_t balance(Program& program, const Arch& arch, const CompilerSpec&) { return Balancer(program, arch).run(); }

bool leaves_engines_open(Program& program, const Arch& arch) {
  Balancer balancer(program, arch);
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    if (balancer.might_move(id)) return true;
  }
  return false;
}

}  // namespace kiln::vendor
