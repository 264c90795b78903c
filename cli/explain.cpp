#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/rule_examples.h"
#include "cli/rules.h"
#include "kernels/library_rules.h"
#include "kiln/base/suggest.h"
#include "kiln/check/all_rules.h"
#include "kiln/emit/emit_rules.h"
#include "kiln/sim/mpi_rules.h"
#include "kiln/sim/rules.h"
#include "kiln/tensor/ir/rules.h"
#include "kiln/timing/rules.h"
#include "kiln/views/rules.h"

namespace kiln::cli {
namespace {

struct ExplainOptions {
  std::string code;
  bool json = false;
};

std::vector<RuleTable> every_table() {
  std::vector<RuleTable> tables = check::all_rules();
  for (const RuleTable& table :
       {sim::run_rules::kTable, sim::mpi_rules::kTable, timing::timing_rules::kTable, views::view_rules::kTable,
        emit::emit_rules::kTable, tensor::rules::kTable, cli_rules::kTable})
    tables.push_back(table);
  tables.insert(tables.end(), std::begin(kernels::kLibraryRules), std::end(kernels::kLibraryRules));
  return tables;
}

const char* basis(const RuleTable& table, const Rule& rule) { return table.has_marks ? name(rule.mark) : ""; }

std::string text_of(const RuleTable& table, const Rule& rule) {
  std::string text = fmt::format("{}: {}\n  help: {}\n", code_of(table, rule), rule.text, rule.help);
  if (table.has_marks) text += fmt::format("  basis: {}\n", basis(table, rule));
  return text + fmt::format("  applies to: {}\n", table.origin) + example_text(code_of(table, rule));
}

nlohmann::ordered_json rule_json(const RuleTable& table, const Rule& rule) {
  const std::string code = code_of(table, rule);
  nlohmann::ordered_json json{{"code", code},
                              {"text", rule.text},
                              {"help", rule.help},
                              {"basis", basis(table, rule)},
                              {"origin", table.origin}};
  for (const RuleExample& example : rule_examples()) {
    if (example.code != code) continue;
    json["example"] = {
        {"form", example.form}, {"wrong", example.wrong}, {"right", example.right}, {"also", example.also}};
  }
  return json;
}

Outcome list(const ExplainOptions& options) {
  std::string text;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const RuleTable& table : every_table()) {
    for (const Rule& rule : table.rules) {
      text += fmt::format("{}: {}\n", code_of(table, rule), rule.text);
      if (options.json) json.push_back(rule_json(table, rule));
    }
  }
  return {.out = options.json ? dump(json) : text};
}

Outcome explain(const ExplainOptions& options) {
  if (options.code.empty()) return list(options);
  std::vector<std::string> codes;
  for (const RuleTable& table : every_table()) {
    for (const Rule& rule : table.rules) {
      codes.push_back(code_of(table, rule));
      if (codes.back() == options.code)
        return {.out = options.json ? dump(rule_json(table, rule)) : text_of(table, rule)};
    }
  }
  throw Error(broken(cli_rules::kCode, fmt::format("no rule has the code `{}`", options.code),
                     did_you_mean(suggest(options.code, codes))));
}

}  // namespace

Command add_explain(CLI::App& root) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* app = root.add_subcommand("explain", "what the code of a diagnostic means");
  app->add_option("CODE", options->code, "the label of a rule; without it, all rules are listed");
  add_json(*app, options->json);
  app->footer(examples({"kiln explain nc_matmul.R3", "kiln explain"}));
  return {app, [options] { return explain(*options); },
          [options] {
            const std::string& code = options->code;
            return code.starts_with("language.") || code.starts_with("nki.") || code.starts_with("numpy.");
          }};
}

}  // namespace kiln::cli
