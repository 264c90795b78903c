#include "kiln/rewrite/unroll.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "kiln/analysis/writers.h"
#include "kiln/isa/table.h"
#include "kiln/rewrite/allocate_registers.h"

namespace kiln::rewrite {
using namespace isa;
namespace {

class Unroller {
 public:
  Unroller(const Program& program, std::vector<InstructionId>* origins) : from_(program), origins_(origins) {
    to_.name = program.name;
    to_.target = program.target;
    to_.nki = program.nki;
    to_.lnc = program.lnc;
    to_.fragment = program.fragment;
    to_.strings = program.strings;
    to_.locs = program.locs;
    tensors_.resize(program.tensors.size(), kNone);
    registers_.resize(program.registers.size(), kNone);
    instructions_.resize(program.instructions.size(), kNone);
    values_.resize(program.loops.size());
  }

  Program run() {
    block(from_.body, to_.body);
    return std::move(to_);
  }

 private:
  // Blocks of the new program are filled before they get their place there: adding a loop moves the others.
  void block(const Block& nodes, Block& out) {
    for (const Node& node : nodes) {
      switch (node.kind) {
        case Node::Kind::declare:
          out.push_back({Node::Kind::declare, declare(node.index)});
          break;
        case Node::Kind::instruction:
          out.push_back({Node::Kind::instruction, instruction(node.index)});
          break;
        case Node::Kind::loop:
          loop(node.index, out);
          break;
      }
    }
  }

  TensorId declare(TensorId id) {
    const auto made = static_cast<TensorId>(to_.tensors.size());
    Tensor t = from_.tensors[id];
    if (tensors_[id] != kNone) t.name = unused(t.name);
    names_.emplace(t.name, 1);
    to_.tensors.push_back(std::move(t));
    return tensors_[id] = made;
  }

  std::string unused(const std::string& name) {
    std::string made;
    do {
      made = fmt::format("{}_{}", name, names_[name]++);
    } while (names_.contains(made));
    return made;
  }

  RegisterId new_register(RegisterId id) {
    const auto made = static_cast<RegisterId>(to_.registers.size());
    Register r = from_.registers[id];
    if (registers_[id] != kNone) r.name = unused(r.name);
    names_.emplace(r.name, 1);
    to_.registers.push_back(std::move(r));
    return registers_[id] = made;
  }
  RegisterId reg(RegisterId id) { return registers_[id] == kNone ? new_register(id) : registers_[id]; }

  void loop(LoopId id, Block& out) {
    const Loop& loop = from_.loops[id];
    if (loop.kind == Loop::Kind::static_for) {
      for (std::int64_t i = 0; i < loop.trip_count(); ++i) {
        values_[id] = loop.lower.value + i * loop.step;
        block(loop.body, out);
      }
      return;
    }
    Loop made = loop;
    made.body.clear();
    for (Bound* bound : {&made.lower, &made.upper}) {
      if (bound->is_register) bound->value = reg(static_cast<RegisterId>(bound->value));
    }
    made.reg = loop.kind == Loop::Kind::dynamic_for ? new_register(loop.reg) : reg(loop.reg);
    made.variable = to_.registers[made.reg].name;
    const auto place = static_cast<LoopId>(to_.loops.size());
    to_.loops.push_back(std::move(made));
    out.push_back({Node::Kind::loop, place});
    Block body;
    block(loop.body, body);
    to_.loops[place].body = std::move(body);
  }

  InstructionId instruction(InstructionId id) {
    Instruction inst = from_.instructions[id];
    const Facts& facts = info(inst.opcode).semantics->facts;
    std::vector<Arg> args;
    for (std::size_t i = 0; i < info(inst.opcode).params.size(); ++i) {
      const Arg& given = from_.arg(inst, static_cast<int>(i));
      if (facts.declares_register && static_cast<int>(i) == facts.sets_register) new_register(given.index);
      args.push_back(arg(given));
    }
    inst.first_arg = static_cast<std::uint32_t>(to_.args.size());
    to_.args.insert(to_.args.end(), args.begin(), args.end());
    const auto deps = std::span(from_.deps).subspan(inst.first_dep, inst.dep_count);
    inst.first_dep = static_cast<std::uint32_t>(to_.deps.size());
    for (const InstructionId dep : deps) {
      if (instructions_[dep] != kNone) to_.deps.push_back(instructions_[dep]);  // else its loop has never run
    }
    inst.dep_count = static_cast<std::uint32_t>(to_.deps.size()) - inst.first_dep;
    const auto made = static_cast<InstructionId>(to_.instructions.size());
    to_.instructions.push_back(inst);
    if (origins_) origins_->push_back(id);
    return instructions_[id] = made;
  }

  Arg arg(Arg a) {
    switch (a.kind) {
      case Arg::Kind::access:
        a.index = access(from_.accesses[a.index]);
        break;
      case Arg::Kind::accesses: {
        std::vector<Access> made;  // they stand together
        for (std::uint32_t i = 0; i < a.count; ++i) made.push_back(moved(from_.accesses[a.index + i]));
        a.index = static_cast<std::uint32_t>(to_.accesses.size());
        to_.accesses.insert(to_.accesses.end(), made.begin(), made.end());
        break;
      }
      case Arg::Kind::integers:
        a.index = copy(from_.integers, to_.integers, a);
        break;
      case Arg::Kind::reals:
        a.index = copy(from_.reals, to_.reals, a);
        break;
      case Arg::Kind::reg:
        a.index = reg(a.index);
        break;
      default:
        break;
    }
    return a;
  }

  template <class T>
  static std::uint32_t copy(const std::vector<T>& from, std::vector<T>& to, const Arg& a) {
    const auto first = static_cast<std::uint32_t>(to.size());
    to.insert(to.end(), from.begin() + a.index, from.begin() + a.index + a.count);
    return first;
  }

  std::uint32_t access(const Access& a) {
    const Access made = moved(a);
    to_.accesses.push_back(made);
    return static_cast<std::uint32_t>(to_.accesses.size() - 1);
  }

  Access moved(Access a) {
    a.tensor = tensors_[a.tensor];
    a.partition = {value(a.partition), 0, 0};
    a.offset = {value(a.offset), 0, 0};
    if (a.dynamic == kNone) return a;
    Dynamic d = from_.dynamics[a.dynamic];
    const bool is_register = d.kind == Dynamic::Kind::scalar_register;
    d.source = is_register ? reg(d.source) : access(from_.accesses[d.source]);
    a.dynamic = static_cast<std::uint32_t>(to_.dynamics.size());
    to_.dynamics.push_back(d);
    return a;
  }

  std::int64_t value(const Affine& affine) const {
    std::int64_t sum = affine.constant;
    for (const Term& term : from_.terms_of(affine)) sum += term.coefficient * values_[term.loop];
    return sum;
  }

  const Program& from_;
  std::vector<InstructionId>* origins_;  // null: nobody asks
  Program to_;
  std::vector<TensorId> tensors_;            // by old id: the new one, of this pass
  std::vector<RegisterId> registers_;        // likewise
  std::vector<InstructionId> instructions_;  // likewise
  std::vector<std::int64_t> values_;         // of static loops
  std::map<std::string, int> names_;
};

// HBM has three words: what the caller gives, what it gets, and what only the kernel sees.
void name_memory(Tensor& t) {
  if (!is_hbm(t.memory)) return;
  if (t.role == Role::output) t.memory = Memory::shared_hbm;
  if (t.role == Role::input || t.role == Role::inout) t.memory = Memory::hbm;
  if (t.role == Role::internal && t.memory == Memory::hbm) t.memory = Memory::private_hbm;
}

// Arguments, results and the rest, each counted in their order.
void name_tensors(Program& p) {
  const std::vector<bool> written = analysis::written_tensors(p);
  std::size_t arguments = 0, outputs = 0, others = 0;
  for (std::size_t i = 0; i < p.tensors.size(); ++i) {
    Tensor& t = p.tensors[i];
    t.loc = 0;
    name_memory(t);
    if (t.role == Role::inout && !written[i]) t.role = Role::input;
    t.name = t.role == Role::internal ? fmt::format("t{}", others++)
             : t.role == Role::output ? fmt::format("out{}", outputs++)
                                      : fmt::format("arg{}", arguments++);
  }
}

}  // namespace

Program unroll(const Program& program, std::vector<InstructionId>* origins) { return Unroller(program, origins).run(); }

Program normal_form(const Program& program) {
  Program p = unroll(allocate_registers(program));
  p.name = "kernel";
  p.locs.resize(1);
  std::stable_partition(p.body.begin(), p.body.end(), [&](const Node& node) {
    if (node.kind != Node::Kind::declare) return false;
    const Role role = p.tensors[node.index].role;
    return role == Role::input || role == Role::inout;
  });
  name_tensors(p);
  for (std::size_t r = 0; r < p.registers.size(); ++r) p.registers[r] = {fmt::format("r{}", r), false};
  for (Instruction& inst : p.instructions) inst.loc = 0;
  for (Loop& loop : p.loops) {
    loop.loc = 0;
    loop.variable = loop.reg == kNone ? "" : p.registers[loop.reg].name;
  }
  for (Access& a : p.accesses) {
    for (int i = 0; i < a.rank; ++i) {
      if (a.dims[i].count == 1) a.dims[i].stride = 1;
    }
  }
  return p;
}

}  // namespace kiln::rewrite
