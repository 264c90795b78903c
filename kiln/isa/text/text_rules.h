// The rules that a text can break, for the parser and for whoever explains a code.
#pragma once

#include <span>

#include "kiln/base/rule_text.h"

namespace kiln::isa {

enum class TextRule : int {
#define KILN_TEXT_RULE(number, name, ...) name,
#include "kiln/isa/text/text_rules.def"
#undef KILN_TEXT_RULE
};

std::span<const RuleText> text_rules();
inline const RuleText& rule_text(TextRule rule) { return text_rules()[static_cast<int>(rule)]; }

}  // namespace kiln::isa
