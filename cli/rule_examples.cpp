#include "cli/rule_examples.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "cli/rule_example_files.h"

namespace kiln::cli {
namespace {

// "== CODE [FORM] [also CODE ...]".
std::optional<RuleExample> header_of(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  if (!(words >> word) || word != "==") return std::nullopt;
  RuleExample example{.form = "kernel"};
  words >> example.code;
  bool is_also = false;
  while (words >> word) {
    if (word == "also") {
      is_also = true;
    } else if (is_also) {
      example.also.push_back(word);
    } else {
      example.form = word;
    }
  }
  return example;
}

// A line of one side or, indented, of both; an empty one belongs to both.
void add_line(RuleExample& example, const std::string& line) {
  const std::string text = (line.size() > 2 ? line.substr(2) : "") + "\n";
  const char side = line.empty() ? ' ' : line[0];
  if (side != '+') example.wrong += text;
  if (side != '-') example.right += text;
}

// Sections stand apart by an empty line.
void drop_empty_end(std::string& text) {
  while (text.ends_with("\n\n")) text.pop_back();
}

void read(std::string_view file, std::vector<RuleExample>& examples) {
  std::istringstream lines{std::string(file)};
  const std::size_t first = examples.size();
  for (std::string line; std::getline(lines, line);) {
    if (std::optional<RuleExample> example = header_of(line)) {
      examples.push_back(std::move(*example));
    } else if (examples.size() > first) {
      add_line(examples.back(), line);
    }
  }
  for (std::size_t i = first; i < examples.size(); ++i) {
    drop_empty_end(examples[i].wrong);
    drop_empty_end(examples[i].right);
  }
}

std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) out += line.empty() ? "\n" : "    " + line + "\n";
  return out;
}

}  // namespace

const std::vector<RuleExample>& rule_examples() {
  static const std::vector<RuleExample> kExamples = [] {
    std::vector<RuleExample> examples;
    for (const std::string_view file : kRuleExampleFiles) read(file, examples);
    return examples;
  }();
  return kExamples;
}

std::string example_text(std::string_view code) {
  for (const RuleExample& example : rule_examples()) {
    if (example.code != code) continue;
    const std::string also =
        example.also.empty() ? "" : fmt::format(", which breaks {} too", fmt::join(example.also, " and "));
    return fmt::format("  wrong{}:\n{}  right:\n{}", also, indented(example.wrong), indented(example.right));
  }
  return {};
}

}  // namespace kiln::cli
