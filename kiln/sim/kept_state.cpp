#include "kiln/sim/kept_state.h"

#include "kiln/isa/inst_view.h"
#include "kiln/isa/semantics/engine_state.h"

namespace kiln::sim {
using namespace isa;

unsigned kept_state(const Program& program) {
  constexpr unsigned kAccumulators = kActRegisters | kVectorAccumulators;
  unsigned kept = 0;
  for (const Instruction& inst : program.instructions) {
    const InstView view(program, inst);
    const Semantics& semantics = *view.row().semantics;
    if (!semantics.state) continue;
    const ReduceCmd command = view.get_or(AttrType::ReduceCmd, ReduceCmd::reset_reduce);
    const bool goes_on = command == ReduceCmd::idle || command == ReduceCmd::reduce;
    kept |= semantics.state(view) & (goes_on ? ~0u : ~kAccumulators);
  }
  return kept;
}

}  // namespace kiln::sim
