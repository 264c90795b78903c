#include "tests/isa/table_json.h"

#include <nlohmann/json.hpp>

#include "kiln/check/rules.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/verify/program_rules.h"
#include "kiln/sim/rules.h"

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
  for (const Rule& rule : s.rules) rules.push_back(code_of(row.rules(), rule));
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
  for (const RuleTable& table : {isa::kOperandRules, isa::program_rules::kTable, check::memory_rules::kTable,
                                 check::io_rules::kTable, check::flow_rules::kTable, sim::run_rules::kTable}) {
    for (const Rule& rule : table.rules) rules.push_back(code_of(table, rule));
  }
  return json{{"instructions", rows}, {"rules", rules}}.dump();
}

}  // namespace kiln
