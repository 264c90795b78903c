#include "kiln/rewrite/move_engine.h"

#include <algorithm>

#include "kiln/isa/semantics/check.h"
#include "kiln/rewrite/edit.h"

namespace kiln::rewrite {
namespace {

isa::Arg& choice_of(isa::Program& program, isa::InstructionId id) {
  const isa::Instruction& inst = program.instructions[id];
  return arg_of(program, inst, info(inst.opcode).engine_param);
}

bool is_legal(const isa::Program& program, isa::InstructionId id, const Arch& arch) {
  std::vector<Diagnostic> wrong;
  check_instruction(program, program.instructions[id], arch, wrong);
  return std::none_of(wrong.begin(), wrong.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
}

}  // namespace

std::vector<isa::InstructionId> movable(isa::Program& program, std::span<const isa::InstructionId> instructions,
                                        Engine engine, const Arch& arch) {
  std::vector<isa::InstructionId> can;
  for (const isa::InstructionId id : instructions) {
    const isa::InstructionInfo& row = info(program.instructions[id].opcode);
    if (row.engine_param < 0 || std::find(row.engines.begin(), row.engines.end(), engine) == row.engines.end())
      continue;
    const isa::Arg before = choice_of(program, id);
    move_to_engine(program, {&id, 1}, engine);
    if (is_legal(program, id, arch)) can.push_back(id);
    choice_of(program, id) = before;
  }
  return can;
}

void move_to_engine(isa::Program& program, std::span<const isa::InstructionId> instructions, Engine engine) {
  for (const isa::InstructionId id : instructions)
    choice_of(program, id) = enumerator(static_cast<std::int64_t>(engine));
}

}  // namespace kiln::rewrite
