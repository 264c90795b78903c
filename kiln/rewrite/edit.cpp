#include "kiln/rewrite/edit.h"

#include <algorithm>

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

namespace {

bool are_equal(const Affine& a, const Affine& b) {
  return a.constant == b.constant && a.term_count == b.term_count && (!a.term_count || a.first_term == b.first_term);
}

bool are_equal(const Access& a, const Access& b) {
  return a.tensor == b.tensor && a.dtype == b.dtype && a.dynamic == b.dynamic && are_equal(a.partition, b.partition) &&
         are_equal(a.offset, b.offset) && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}

}  // namespace

Arg share_access(Program& program, const Access& access) {
  if (program.accesses.empty() || !are_equal(program.accesses.back(), access)) return add_access(program, access);
  Arg arg{};
  arg.kind = Arg::Kind::access;
  arg.index = static_cast<std::uint32_t>(program.accesses.size() - 1);
  return arg;
}

Instruction default_instruction(Program& program, Opcode opcode, LocId loc) {
  const Instruction made{.opcode = opcode, .loc = loc, .first_arg = static_cast<std::uint32_t>(program.args.size())};
  for (const Arg& arg : default_args(opcode)) program.args.push_back(arg);
  return made;
}

}  // namespace kiln::rewrite
