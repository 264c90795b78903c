#include <fmt/format.h>

#include "kiln/advice/advice_rules.h"
#include "kiln/analysis/product.h"

namespace kiln::advice {

std::optional<Advice> fp32_matmul(const Evidence& e) {
  Places places;
  std::int64_t matmuls = 0;
  Change change;
  change.cores.resize(e.run.cores().size());
  for (std::size_t core = 0; core < e.run.cores().size(); ++core) {
    const isa::Program& program = *e.run.cores()[core];
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const isa::InstView inst(program, program.instructions[i]);
      const isa::Product product = analysis::product_of(inst, e.run.arch);
      if (!product.is_matmul || product.transposes) continue;
      const isa::Facts& facts = inst.facts();
      if (inst.dtype(facts.stationary) != DType::float32 && inst.dtype(facts.moving) != DType::float32) continue;
      places.add(inst);
      change.cores[core].narrowed.push_back(static_cast<isa::InstructionId>(i));
      matmuls += e.executions[core][i];
    }
  }
  if (matmuls == 0) return {};
  return Advice{
      .found = fmt::format("{} matmuls read float32, at {} passes each", matmuls, e.run.arch.matmul_fp32_passes),
      .remedy = "give nc_matmul bfloat16 operands where the precision is enough; PSUM still adds in float32",
      .places = std::move(places).take(),
      .gain_ns = e.gain_with(change),
      .estimate = e.estimate("bfloat16 operands in these matmuls, conversions not counted")};
}

}  // namespace kiln::advice
