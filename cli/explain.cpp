#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/rules.h"
#include "kiln/base/suggest.h"
#include "kiln/check/all_rules.h"
#include "kiln/sim/machine.h"
#include "kiln/timing/rules.h"
#include "kiln/views/rules.h"

namespace kiln::cli {
namespace {

struct ExplainOptions {
  std::string code;
  bool json = false;
};

std::vector<check::RuleInfo> every_rule() {
  std::vector<check::RuleInfo> rules = check::all_rules();
  check::append_rules(rules, sim::run_rules(), "a program while it runs");
  check::append_rules(rules, timing::timing_rules(), "the timing model");
  check::append_rules(rules, views::view_rules(), "a what-if of the timing model");
  check::append_rules(rules, cli_rules(), "the command line");
  return rules;
}

const char* basis(const check::RuleInfo& rule) { return rule.mark ? isa::name(*rule.mark) : ""; }

std::string text_of(const check::RuleInfo& rule) {
  std::string text = fmt::format("{}: {}\n  help: {}\n", rule.code, rule.text, rule.help);
  if (rule.mark) text += fmt::format("  basis: {}\n", basis(rule));
  return text + fmt::format("  applies to: {}\n", rule.origin);
}

nlohmann::ordered_json json_of(const check::RuleInfo& rule) {
  return {
      {"code", rule.code}, {"text", rule.text}, {"help", rule.help}, {"basis", basis(rule)}, {"origin", rule.origin}};
}

Outcome list(const ExplainOptions& options) {
  std::string text;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const check::RuleInfo& rule : every_rule()) {
    text += fmt::format("{}: {}\n", rule.code, rule.text);
    if (options.json) json.push_back(json_of(rule));
  }
  return {.out = options.json ? dump(json) : text};
}

Outcome explain(const ExplainOptions& options) {
  if (options.code.empty()) return list(options);
  const std::vector<check::RuleInfo> rules = every_rule();
  Suggest suggest(options.code);
  for (const check::RuleInfo& rule : rules) {
    if (rule.code == options.code) return {.out = options.json ? dump(json_of(rule)) : text_of(rule)};
    suggest.consider(rule.code);
  }
  throw Error(
      broken(CliRule::code, fmt::format("no rule has the code `{}`", options.code), did_you_mean(suggest.best())));
}

}  // namespace

Command add_explain(CLI::App& root) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* app = root.add_subcommand("explain", "what the code of a diagnostic means");
  app->add_option("CODE", options->code, "the label of a rule; without it, all rules are listed");
  add_json(*app, options->json);
  app->footer(examples({"kiln explain nc_matmul.R3", "kiln explain"}));
  return {app, [options] { return explain(*options); }};
}

}  // namespace kiln::cli
