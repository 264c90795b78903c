#include "kiln/rewrite/costs_after.h"

#include <vector>

#include "kiln/isa/table.h"
#include "kiln/rewrite/move_engine.h"

namespace kiln::rewrite {
namespace {

bool is_float32(const isa::Program& program, const isa::Arg& arg) {
  return arg.kind == isa::Arg::Kind::access && program.accesses[arg.index].dtype == DType::float32;
}

// Instructions may share an access: the narrowed one gets its own.
void narrow(isa::Program& program, const isa::Instruction& inst) {
  for (std::uint32_t p = 0; p < info(inst.opcode).params.size(); ++p) {
    isa::Arg& arg = program.args[inst.first_arg + p];
    if (!is_float32(program, arg)) continue;
    isa::Access access = program.accesses[arg.index];
    access.dtype = DType::bfloat16;
    arg.index = static_cast<std::uint32_t>(program.accesses.size());
    program.accesses.push_back(access);
  }
}

}  // namespace

bool while_narrow(isa::Program& program, const isa::Instruction& inst, FunctionRef<void()> fn) {
  std::vector<isa::Access*> changed;
  for (int p = 0; p < static_cast<int>(info(inst.opcode).params.size()); ++p) {
    const isa::Arg& arg = program.arg(inst, p);
    if (is_float32(program, arg)) changed.push_back(&program.accesses[arg.index]);
  }
  if (changed.empty()) return false;
  for (isa::Access* access : changed) access->dtype = DType::bfloat16;
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
