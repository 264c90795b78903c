// Product: what an instruction of the tensor engine multiplies.
#pragma once

#include "kiln/isa/inst_view.h"

namespace kiln::analysis {

// All zero of an instruction that multiplies no matrices.
inline isa::Product product_of(const isa::InstView& inst, const Arch& arch) {
  return inst.facts().product ? inst.facts().product(inst, arch) : isa::Product{};
}

}  // namespace kiln::analysis
