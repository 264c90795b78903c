// The texts of the files of cli/rule_examples.
#pragma once

#include <span>
#include <string_view>

namespace kiln::cli {

extern const std::span<const std::string_view> kRuleExampleFiles;

}  // namespace kiln::cli
