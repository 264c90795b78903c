// A wrong and a right example for the rules: the files of cli/rule_examples, put into the library by CMake. `kiln
// explain` shows them, and the tests run each of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::cli {

struct RuleExample {
  std::string code;               // of the rule that `wrong` breaks and `right` keeps
  std::vector<std::string> also;  // codes that `wrong` cannot help breaking as well
  std::string form;               // kernel: lines of a kernel; file: a Python file; program: text form; command; c++
  std::string wrong, right;       // lines, each with its line break
};

// All of them, by file and in the order of each file.
const std::vector<RuleExample>& rule_examples();

// Both as `kiln explain` shows them below the rule; empty when the rule has no example.
std::string example_text(std::string_view code);

}  // namespace kiln::cli
