#include "kiln/base/rule.h"

#include <fmt/format.h>

namespace kiln {
namespace {

constexpr Rule kAssumptions{"internal", "the library's own assumptions hold for every input",
                            "this is a bug in Kiln: report it together with the input that led here"};
constexpr Rule kRules[] = {kAssumptions};

}  // namespace

constexpr RuleTable kInternalRules{"", "kiln itself", kRules, Category::internal};

const char* name(Mark mark) {
  constexpr const char* kNames[] = {"documented", "documented in an older release", "from another public source",
                                    "undocumented, our choice"};
  return kNames[static_cast<int>(mark)];
}

std::string code_of(const RuleTable& table, const Rule& rule) {
  const std::string label = rule.word ? rule.word : fmt::format("R{}", rule.number);
  return table.prefix.empty() ? label : fmt::format("{}.{}", table.prefix, label);
}

Diagnostic broken(const RuleTable& table, const Rule& rule, Finding finding) {
  const Category usual = rule.mark == Mark::undocumented ? Category::undefined : table.category;
  const std::string text = finding.rule.empty() ? rule.text : std::move(finding.rule);
  return {
      .severity = finding.severity,
      .category = finding.category.value_or(usual),
      .code = code_of(table, rule),
      .rule = rule.mark == Mark::documented ? text : fmt::format("{} ({})", text, name(rule.mark)),
      .loc = std::move(finding.loc),
      .column = finding.column,
      .context = std::move(finding.context),
      .operand = std::move(finding.operand),
      .found = std::move(finding.found),
      .allowed = std::move(finding.allowed),
      .help = finding.help.empty() ? rule.help : std::move(finding.help),
      .notes = std::move(finding.notes),
      .facts = std::move(finding.facts),
  };
}

void raise(const RuleTable& table, const Rule& rule, Finding finding) {
  throw Error(broken(table, rule, std::move(finding)));
}

void internal_error(const char* file, int line, const std::string& what) {
  raise(kInternalRules, kAssumptions, {.found = what, .loc = {.file = file, .line = line}});
}

}  // namespace kiln
