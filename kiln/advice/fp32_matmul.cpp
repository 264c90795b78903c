#include <fmt/format.h>

#include "kiln/advice/advice_rules.h"
#include "kiln/advice/picked.h"
#include "kiln/analysis/product.h"

namespace kiln::advice {

std::optional<Advice> fp32_matmul(const Evidence& e) {
  Picked matmuls = pick(e, &CoreChange::narrowed, [&](std::size_t, const isa::InstView& inst, std::int64_t) {
    const isa::Product product = analysis::product_of(inst, e.run.arch);
    if (!product.is_matmul || product.transposes) return false;
    const isa::Facts& facts = inst.facts();
    return inst.dtype(facts.stationary) == DType::float32 || inst.dtype(facts.moving) == DType::float32;
  });
  if (matmuls.executed == 0) return {};
  return Advice{.found = fmt::format("{} matmuls read float32, at {} passes each", matmuls.executed,
                                     e.run.arch.matmul_fp32_passes),
                .remedy = "give nc_matmul bfloat16 operands where the precision is enough; PSUM still adds in float32",
                .places = std::move(matmuls.places).take(),
                .gain_ns = e.gain_with(matmuls.change),
                .estimate = e.estimate("bfloat16 operands in these matmuls, conversions not counted")};
}

}  // namespace kiln::advice
