// The rules that views add to those of the model.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::views {

namespace view_rules {
inline constexpr Rule kEngineWhatIf{
    1, "engine=INSTRUCTION:ENGINE names an instruction of the program and an engine that can run it",
    "kiln isa INSTRUCTION lists its engines"};

inline constexpr Rule kRules[] = {kEngineWhatIf};
inline constexpr RuleTable kTable{"views", "a what-if of the timing model", kRules, Category::config};
}  // namespace view_rules

}  // namespace kiln::views
