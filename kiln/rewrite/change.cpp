#include "kiln/rewrite/change.h"

#include <vector>

#include "kiln/isa/table.h"
#include "kiln/rewrite/move_engine.h"

namespace kiln::rewrite {
namespace {

// Returns the tiles that were float32.
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

}  // namespace

bool while_narrow(isa::Program& program, const isa::Instruction& inst, FunctionRef<void()> fn) {
  const std::vector<isa::Access*> changed = narrow(program, inst);
  if (changed.empty()) return false;
  fn();
  for (isa::Access* access : changed) access->dtype = DType::float32;
  return true;
}

isa::Program costs_after(const isa::Program& program, std::span<const isa::InstructionId> narrowed,
                         std::span<const isa::InstructionId> moved, Engine engine) {
  isa::Program costs = program;
  for (const isa::InstructionId id : narrowed) narrow(costs, costs.instructions[id]);
  move_to_engine(costs, moved, engine);
  return costs;
}

}  // namespace kiln::rewrite
