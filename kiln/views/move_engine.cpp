#include "kiln/views/move_engine.h"

#include <algorithm>

#include "kiln/isa/check.h"

namespace kiln::views {

Moved move_to_engine(const isa::Program& program, std::span<const isa::InstructionId> instructions,
                     Engine engine, const Arch& arch) {
  Moved moved{program, {}};
  for (const isa::InstructionId id : instructions) {
    const isa::Instruction& inst = moved.program.instructions[id];
    const isa::InstructionInfo& row = info(inst.opcode);
    if (row.engine_param < 0 ||
        std::find(row.engines.begin(), row.engines.end(), engine) == row.engines.end())
      continue;
    isa::Arg& choice = moved.program.args[inst.first_arg + row.engine_param];
    const isa::Arg before = choice;
    choice.kind = isa::Arg::Kind::enumerator;
    choice.integer = static_cast<std::int64_t>(engine);
    std::vector<Diagnostic> wrong;
    check_instruction(moved.program, inst, arch, wrong);
    const bool ok = std::none_of(wrong.begin(), wrong.end(),
                                 [](const Diagnostic& d) { return d.severity == Severity::error; });
    if (ok) {
      moved.instructions.push_back(id);
    } else {
      choice = before;
    }
  }
  return moved;
}

}  // namespace kiln::views
