// A rule that a diagnostic can cite: its stable code, the rule as a sentence, and the usual remedy. Every
// folder that checks something exposes its rules as a table of these, so that they can be listed and
// explained.
#pragma once

#include <string_view>

namespace kiln {

struct RuleText {
  std::string_view code;
  std::string_view text;
  std::string_view help;
};

}  // namespace kiln
