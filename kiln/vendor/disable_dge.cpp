#include "kiln/vendor/disable_dge.h"

#include "kiln/isa/enums.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/uses.h"

namespace kiln::vendor {
using namespace isa;

void disable_dge(Program& program) {
  for (const Instruction& inst : program.instructions) {
    const int param = info(inst.opcode).find_param(AttrType::DgeMode);
    if (param < 0 || InstView(program, inst).get<DgeMode>(param) != DgeMode::unknown) continue;
    bool dynamic = false;
    for_each_use(program, inst, [&](const Access& access, Use) { dynamic |= access.dynamic != kNone; });
    if (dynamic) continue;
    Arg& arg = program.args[inst.first_arg + static_cast<std::uint32_t>(param)];
    arg.kind = Arg::Kind::enumerator;
    arg.integer = static_cast<std::int64_t>(DgeMode::none);
  }
}

}  // namespace kiln::vendor
