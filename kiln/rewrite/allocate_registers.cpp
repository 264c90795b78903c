#include "kiln/rewrite/allocate_registers.h"

#include "kiln/isa/default_arg.h"
#include "kiln/isa/uses.h"

namespace kiln::rewrite {
using namespace isa;
namespace {

// The instruction that a register's life begins with.
Opcode allocating() {
  const auto rows = all_instructions();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_query() && rows[i].semantics->facts.declares_register) return static_cast<Opcode>(i);
  }
  KILN_ASSERT(false);
  return {};
}

std::vector<bool> lacking(const Program& program) {
  std::vector<bool> used(program.registers.size()), made(program.registers.size());
  for (const Instruction& inst : program.instructions) {
    const Facts& facts = info(inst.opcode).semantics->facts;
    for_each_register(program, inst, [&](RegisterId id) { used[id] = true; });
    if (facts.declares_register) made[program.arg(inst, facts.sets_register).index] = true;
  }
  for (const Loop& loop : program.loops) {
    if (loop.kind == Loop::Kind::dynamic_for) made[loop.reg] = true;
    if (loop.kind == Loop::Kind::dynamic_while) used[loop.reg] = true;
    for (const Bound& bound : {loop.lower, loop.upper}) {
      if (bound.is_register) used[static_cast<std::size_t>(bound.value)] = true;
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] && !made[i];
  return used;
}

}  // namespace

Program allocate_registers(Program program) {
  Block first;
  const std::vector<bool> wanted = lacking(program);
  for (RegisterId id = 0; id < wanted.size(); ++id) {
    if (!wanted[id]) continue;
    const Opcode opcode = allocating();
    const auto defaults = default_args(opcode);
    Instruction inst{.opcode = opcode, .first_arg = static_cast<std::uint32_t>(program.args.size())};
    program.args.insert(program.args.end(), defaults.begin(), defaults.end());
    Arg& dst = program.args[inst.first_arg + static_cast<std::uint32_t>(info(opcode).semantics->facts.sets_register)];
    dst.kind = Arg::Kind::reg;
    dst.index = id;
    first.push_back({Node::Kind::instruction, static_cast<std::uint32_t>(program.instructions.size())});
    program.instructions.push_back(inst);
  }
  program.body.insert(program.body.begin(), first.begin(), first.end());
  return program;
}

}  // namespace kiln::rewrite
