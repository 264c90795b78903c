#include "kiln/rewrite/dma_starts.h"

#include "kiln/isa/enums.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/rewrite/edit.h"

namespace kiln::rewrite {

void start_by_software(isa::Program& program, const Arch& chip) {
  for (const isa::Instruction& inst : program.instructions) {
    const int param = isa::info(inst.opcode).find_param(isa::AttrType::DgeMode);
    if (param < 0) continue;
    isa::Arg& mode = arg_of(program, inst, param);
    const isa::Arg before = mode;
    if (before.integer != static_cast<std::int64_t>(isa::DgeMode::unknown)) continue;
    mode = enumerator(static_cast<std::int64_t>(isa::DgeMode::swdge));
    std::vector<Diagnostic> said;
    isa::check_instruction(program, inst, chip, said);
    if (!said.empty()) mode = before;
  }
}

}  // namespace kiln::rewrite
