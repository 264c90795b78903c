// Every labelled rule that the library can cite before a program runs, in one list.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/base/rule_text.h"
#include "kiln/isa/table.h"

namespace kiln::check {

struct RuleInfo {
  std::string code, text, help;
  std::optional<isa::Mark> mark;  // how well a rule of the chip is founded; none for rules of kiln's own formats
  std::string origin;             // what it applies to
};

// Instructions, operands, whole programs, text form, files, threads. Codes are unique.
std::vector<RuleInfo> all_rules();

// Appends the rules of a table that `all_rules` does not know, e.g. those of a folder above this one.
void append_rules(std::vector<RuleInfo>& out, std::span<const RuleText> rules, std::string_view origin);

}  // namespace kiln::check
