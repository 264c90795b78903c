#include "kiln/isa/text/text_rules.h"

namespace kiln::isa {

std::span<const RuleText> text_rules() {
  static constexpr RuleText kRules[] = {
#define KILN_TEXT_RULE(number, name, text, help) {"text.R" #number, text, help},
#include "kiln/isa/text/text_rules.def"
#undef KILN_TEXT_RULE
  };
  return kRules;
}

}  // namespace kiln::isa
