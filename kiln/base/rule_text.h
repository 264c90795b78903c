// A rule that a diagnostic can cite: its stable code, the rule as a sentence, and the usual remedy. Every
// folder that checks something exposes its rules as a table of these, so that they can be listed and
// explained.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

struct RuleText {
  std::string_view code;
  std::string_view text;
  std::string_view help;
};

// Throws the Error of category `config` for a broken rule about `file` (may be empty). An empty `help` means
// the rule's.
[[noreturn]] void throw_config_error(const RuleText& rule, const std::string& file, const std::string& found,
                                     const std::string& help = {});

}  // namespace kiln
