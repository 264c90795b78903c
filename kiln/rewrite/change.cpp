#include "kiln/rewrite/change.h"

#include "kiln/isa/table.h"
#include "kiln/rewrite/move_engine.h"

namespace kiln::rewrite {

std::vector<isa::Access*> narrow(isa::Program& program, const isa::Instruction& inst) {
  std::vector<isa::Access*> changed;
  for (int p = 0; p < static_cast<int>(info(inst.opcode).params.size()); ++p) {
    const isa::Arg& arg = program.arg(inst, p);
    if (arg.kind != isa::Arg::Kind::access || program.accesses[arg.index].dtype != DType::float32) continue;
    changed.push_back(&program.accesses[arg.index]);
    changed.back()->dtype = DType::bfloat16;
  }
  return changed;
}

isa::Program costs_after(const isa::Program& program, std::span<const isa::InstructionId> narrowed,
                         std::span<const isa::InstructionId> moved, Engine engine) {
  isa::Program costs = program;
  for (const isa::InstructionId id : narrowed) narrow(costs, costs.instructions[id]);
  move_to_engine(costs, moved, engine);
  return costs;
}

}  // namespace kiln::rewrite
