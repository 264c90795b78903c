// Moves operands of accepted programs to memories and dtypes that the instruction table excludes.
#pragma once

#include <string>

namespace kiln {

// For each tile operand, in the first case of `directory` that uses it: JSON [{instruction, param, mutants:
// [{to, wanted, codes}]}], `wanted` being the rule that must be among the codes of the diagnostics.
std::string mutate_cases(const std::string& directory);

}  // namespace kiln
