// What the timing model asks of a program and of its caller.
#pragma once

#include <span>
#include <string_view>

#include "kiln/base/error.h"
#include "kiln/base/rule_text.h"

namespace kiln::timing {

std::span<const RuleText> timing_rules();

// The diagnostic of a broken rule, by its code; what was found and where is for the caller to add.
Diagnostic timing_diagnostic(std::string_view code, Category category = Category::config);

}  // namespace kiln::timing
