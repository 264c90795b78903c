#include "kiln/analysis/engine_counts.h"

#include "kiln/isa/inst_view.h"

namespace kiln::analysis {

EngineCounts count_by_engine(const isa::Program& program) {
  EngineCounts counts{};
  for (const isa::Instruction& inst : program.instructions)
    ++counts[static_cast<int>(resolve_engine(isa::InstView(program, inst), arch(program.target)))];
  return counts;
}

}  // namespace kiln::analysis
