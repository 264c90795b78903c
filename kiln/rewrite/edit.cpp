#include "kiln/rewrite/edit.h"

#include "kiln/isa/default_arg.h"

namespace kiln::rewrite {
using namespace isa;

Arg& arg_of(Program& program, const Instruction& inst, int param) {
  return program.args[inst.first_arg + static_cast<std::uint32_t>(param)];
}

Arg enumerator(std::int64_t member) {
  Arg arg{};
  arg.kind = Arg::Kind::enumerator;
  arg.integer = member;
  return arg;
}

Arg add_access(Program& program, const Access& access) {
  Arg arg{};
  arg.kind = Arg::Kind::access;
  arg.index = static_cast<std::uint32_t>(program.accesses.size());
  program.accesses.push_back(access);
  return arg;
}

Instruction default_instruction(Program& program, Opcode opcode, LocId loc) {
  const Instruction made{.opcode = opcode, .loc = loc, .first_arg = static_cast<std::uint32_t>(program.args.size())};
  for (const Arg& arg : default_args(opcode)) program.args.push_back(arg);
  return made;
}

}  // namespace kiln::rewrite
