#include "kiln/analysis/engine_counts.h"

#include "kiln/isa/inst_view.h"

namespace kiln::analysis {

EngineCounts count_by_engine(const isa::Program& program, const Arch& arch) {
  EngineCounts counts{};
  for (const isa::Instruction& inst : program.instructions)
    ++counts[static_cast<int>(resolve_engine(isa::InstView(program, inst), arch))];
  return counts;
}

}  // namespace kiln::analysis
