// The rules that views add to those of the model.
#pragma once

#include <span>

#include "kiln/base/rule_text.h"

namespace kiln::views {

std::span<const RuleText> view_rules();

}  // namespace kiln::views
