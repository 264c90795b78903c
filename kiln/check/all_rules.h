// Every table of rules that the library can cite before a program runs.
#pragma once

#include <vector>

#include "kiln/base/rule.h"

namespace kiln::check {

// Instructions, operands, whole programs, text form, files, threads. Codes are unique.
std::vector<RuleTable> all_rules();

}  // namespace kiln::check
