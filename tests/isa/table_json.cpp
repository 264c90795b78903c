#include "tests/isa/table_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kiln/check/rules.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/verify/verify.h"
#include "kiln/sim/machine.h"

namespace kiln {
namespace {

using nlohmann::json;

std::string text(const char* s) { return s ? s : ""; }

json functions_of(const isa::Semantics& s) {
  json names = json::array();
  if (s.check) names.push_back("check");
  if (s.run) names.push_back("run");
  if (s.cost) names.push_back("cost");
  if (s.track) names.push_back("track");
  return names;
}

json row_json(const isa::InstructionInfo& row) {
  const isa::Semantics& s = *row.semantics;
  json params = json::array(), rules = json::array();
  for (const auto& p : row.params) params.push_back({{"name", p.name}, {"tile", p.is_tile()}});
  for (std::size_t i = 0; i < s.rules.size(); ++i) rules.push_back(rule_label(row, static_cast<int>(i) + 1));
  return {{"name", row.name},
          {"query", row.is_query()},
          {"summary", row.summary},
          {"params", params},
          {"rules", rules},
          {"description", text(s.description)},
          {"cost_text", text(s.cost_text)},
          {"functions", functions_of(s)}};
}

}  // namespace

std::string table_json() {
  json rows = json::array(), rules = json::array();
  for (const auto& row : isa::all_instructions()) rows.push_back(row_json(row));
  for (std::size_t i = 1; i <= isa::operand_rules().size(); ++i) rules.push_back(fmt::format("operand.R{}", i));
  for (const auto& table : {isa::verify_rules(), check::memory_rules(), check::io_rules(), sim::run_rules()}) {
    for (const RuleText& rule : table) rules.push_back(rule.code);
  }
  return json{{"instructions", rows}, {"rules", rules}}.dump();
}

}  // namespace kiln
