// Affine expressions with values for their loop variables.
#pragma once

#include <span>

#include "kiln/isa/program.h"

namespace kiln::analysis {

// constant + sum of coefficient * loop variable; `loop_values`: by LoopId.
inline std::int64_t value_of(const isa::Program& program, const isa::Affine& affine,
                             std::span<const std::int64_t> loop_values) {
  std::int64_t value = affine.constant;
  for (const isa::Term& term : program.terms_of(affine)) value += term.coefficient * loop_values[term.loop];
  return value;
}

}  // namespace kiln::analysis
