#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/manual_words.h"
#include "kiln/base/file.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/operand_rules.h"

namespace kiln::cli {
namespace {

Table facts(const isa::InstructionInfo& row) {
  return {
      .header = {"", ""},
      .rows = {
          {"group", std::string(row.group)}, {"engines", engines_text(row)}, {"generations", generations_text(row)}}};
}

Table operands(const isa::InstructionInfo& row) {
  Table table{.header = {"operand", "", "memories", "dtypes", ""}, .stacked = true};
  for (const isa::ParamInfo& p : row.params) {
    if (p.is_tile())
      table.rows.push_back(
          {std::string(p.name), direction_text(p.kind), memories_text(p), dtypes_text(p), flags_text(p)});
  }
  return table;
}

Table attributes(const isa::InstructionInfo& row) {
  Table table{.header = {"attribute", "type", "default", "members"}, .stacked = true};
  for (const isa::ParamInfo& p : row.params) {
    if (!p.is_tile())
      table.rows.push_back(
          {std::string(p.name), type_text(p.type), p.required ? "required" : default_text(p), members_text(p.type)});
  }
  return table;
}

Table rules(const RuleTable& rules) {
  Table table{.header = {"rule", "", "help", "basis"}, .stacked = true};
  for (const Rule& rule : rules.rules)
    table.rows.push_back({code_of(rules, rule), rule.text, rule.help, name(rule.mark)});
  return table;
}

std::string see_also(const isa::InstructionInfo& row) {
  std::vector<std::string_view> names;
  for (const isa::InstructionInfo& other : isa::all_instructions()) {
    if (other.group == row.group && other.name != row.name) names.push_back(other.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string or_empty(const char* text) { return text ? text : ""; }

}  // namespace

std::string engines_text(const isa::InstructionInfo& row) {
  std::vector<std::string_view> names;
  for (const Engine e : row.engines) names.push_back(name(e));
  return names.empty() ? "none: answered while a kernel is built" : fmt::format("{}", fmt::join(names, ", "));
}

std::string generations_text(const isa::InstructionInfo& row) {
  std::vector<std::string> names;
  for (const Arch* a : all_archs()) {
    if (a->generation >= row.first_generation) names.push_back(fmt::format("{} ({})", a->generation_name, a->name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_complete(const isa::InstructionInfo& row) {
  const isa::Semantics& s = *row.semantics;
  return !or_empty(s.description).empty() && (row.is_query() || (s.check && s.run && s.cost));
}

Page manual_page(const isa::InstructionInfo& row) {
  Page page{.title = std::string(row.name), .text = std::string(row.summary)};
  const auto add = [&](Section section) {
    if (!section.code.empty() || !section.text.empty() || !section.table.rows.empty())
      page.sections.push_back(std::move(section));
  };
  add({.title = "Signature", .code = isa::signature(row)});
  add({.title = "Where", .table = facts(row)});
  add({.title = "Operands", .table = operands(row)});
  add({.title = "Attributes", .table = attributes(row)});
  add({.title = "Meaning", .text = or_empty(row.semantics->description)});
  add({.title = "Rules", .table = rules(row.rules())});
  if (!operands(row).rows.empty()) {
    add({.title = "Rules of every operand",
         .text = fmt::format("operand.R1 to operand.R{}: see kiln isa operands", isa::kOperandRules.rules.size())});
  }
  add({.title = "Cost", .text = or_empty(row.semantics->cost_text)});
  add({.title = "See also", .text = see_also(row)});
  return page;
}

Page operand_page() {
  return {.title = "operands",
          .text = "Rules that hold for the operands of every instruction.",
          .sections = {{.title = "Rules", .table = rules(isa::kOperandRules)}}};
}

Page listing() {
  Page page{.title = "Instructions", .text = "kiln isa NAME shows the manual page of one."};
  for (const isa::InstructionInfo& row : isa::all_instructions()) {
    const auto same = [&](const Section& s) { return s.title == row.group; };
    auto section = std::find_if(page.sections.begin(), page.sections.end(), same);
    if (section == page.sections.end()) {
      page.sections.push_back({.title = std::string(row.group)});
      section = page.sections.end() - 1;
      section->table.header = {"name", "engines", "from", "summary"};
    }
    section->table.rows.push_back({std::string(row.name),
                                   fmt::format("{}", row.engines.empty() ? "-" : engines_text(row)),
                                   fmt::format("gen{}", row.first_generation), std::string(row.summary)});
  }
  return page;
}

nlohmann::ordered_json json_of(const isa::InstructionInfo& row) {
  nlohmann::ordered_json params = nlohmann::ordered_json::array(), rule_list = params;
  for (const isa::ParamInfo& p : row.params) {
    nlohmann::ordered_json param{{"name", p.name}, {"kind", direction_text(p.kind)}, {"required", p.required}};
    if (!p.required) param["default"] = default_text(p);
    if (p.is_tile()) {
      param["memories"] = memories_text(p);
      param["dtypes"] = dtypes_text(p);
      param["indirect"] = p.indirect;
      param["sink"] = p.sink;
    } else {
      param["type"] = type_text(p.type);
      if (!isa::enum_members(p.type).empty()) param["members"] = isa::enum_members(p.type);
    }
    params.push_back(std::move(param));
  }
  for (const auto& cells : rules(row.rules()).rows) {
    rule_list.push_back({{"code", cells[0]}, {"text", cells[1]}, {"help", cells[2]}, {"basis", cells[3]}});
  }
  std::vector<std::string_view> engines;
  for (const Engine e : row.engines) engines.push_back(name(e));
  return {{"name", row.name},
          {"group", row.group},
          {"engines", engines},
          {"first_generation", row.first_generation},
          {"summary", row.summary},
          {"signature", isa::signature(row)},
          {"params", std::move(params)},
          {"rules", std::move(rule_list)},
          {"meaning", or_empty(row.semantics->description)},
          {"cost", or_empty(row.semantics->cost_text)}};
}

int write_manual(const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder,
                                      failure);  // write_atomically reports what is wrong with the folder
  const auto write = [&](std::string_view name, const std::string& text) {
    write_atomically((std::filesystem::path(folder) / fmt::format("{}.md", name)).string(), text);
  };
  int count = 2;
  std::string index = "# Instructions\n\n";
  for (const isa::InstructionInfo& row : isa::all_instructions()) {
    write(row.name, to_markdown(manual_page(row)));
    index += fmt::format("- [{0}]({0}.md): {1}\n", row.name, row.summary);
    ++count;
  }
  write("operands", to_markdown(operand_page()));
  write("index", index + "\nThe rules that hold for every operand: [operands](operands.md)\n");
  return count;
}

}  // namespace kiln::cli
