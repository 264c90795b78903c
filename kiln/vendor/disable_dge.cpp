#include "kiln/vendor/disable_dge.h"

#include "kiln/isa/enums.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/uses.h"
#include "kiln/rewrite/edit.h"

namespace kiln::vendor {
using namespace isa;

void disable_dge(Program& program) {
  for (const Instruction& inst : program.instructions) {
    const int param = info(inst.opcode).find_param(AttrType::DgeMode);
    if (param < 0 || InstView(program, inst).get<DgeMode>(param) != DgeMode::unknown) continue;
    bool dynamic = false;
    for_each_use(program, inst, [&](const Access& access, Use) { dynamic |= access.dynamic != kNone; });
    if (dynamic) continue;
    rewrite::arg_of(program, inst, param) = rewrite::enumerator(static_cast<std::int64_t>(DgeMode::none));
  }
}

}  // namespace kiln::vendor
