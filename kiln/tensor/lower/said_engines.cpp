#include "kiln/tensor/lower/said_engines.h"

#include "kiln/isa/inst_view.h"
#include "kiln/rewrite/move_engine.h"

namespace kiln::tensor {

void say_engines(isa::Program& program, const Arch& chip) {
  for (isa::InstructionId id = 0; id < program.instructions.size(); ++id) {
    const isa::InstView inst(program, program.instructions[id]);
    const int param = inst.row().engine_param;
    if (param < 0) continue;
    const isa::Arg& said = inst.arg(param);
    if (said.kind != isa::Arg::Kind::none && static_cast<Engine>(said.integer) != Engine::unknown) continue;
    const Engine engine = isa::resolve_engine(inst, chip);
    if (engine == Engine::vector || engine == Engine::scalar || engine == Engine::gpsimd)
      rewrite::move_to_engine(program, {&id, 1}, engine);
  }
}

}  // namespace kiln::tensor
