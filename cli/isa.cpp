#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/manual.h"
#include "cli/options.h"
#include "cli/planned.h"
#include "cli/rules.h"
#include "kiln/base/suggest.h"

namespace kiln::cli {
namespace {

constexpr const char* kOperands = "operands";  // a page beside those of the instructions

struct IsaOptions {
  std::string name, manual_folder;
  bool json = false, markdown = false, status = false;
};

// The tables of docs/status.md.
std::string status(const CLI::App& root) {
  Table instructions{.header = {"instruction", "generations", "rules", "status"}};
  for (const isa::InstructionInfo& row : isa::all_instructions()) {
    instructions.rows.push_back({std::string(row.name), generations_text(row),
                                 std::to_string(row.semantics->rules.size()),
                                 is_complete(row) ? "supported" : "not yet"});
  }
  Table commands{.header = {"command", "status"}};
  for (const CLI::App* command : all_commands(root)) {
    const bool planned = command->get_group() == kPlannedGroup;
    commands.rows.push_back({"kiln " + command->get_name(), planned ? command->get_description() : "supported"});
  }
  return to_markdown(instructions) + "\n" + to_markdown(commands);
}

[[noreturn]] void fail_unknown(const std::string& name) {
  Suggest suggest(name);
  for (const isa::InstructionInfo& row : isa::all_instructions()) suggest.consider(row.name);
  throw Error(
      broken(cli_rules::kInstruction, fmt::format("there is no instruction `{}`", name), did_you_mean(suggest.best())));
}

std::string shown(const Page& page, bool markdown) { return markdown ? to_markdown(page) : to_text(page); }

std::string one(const IsaOptions& options) {
  if (options.name == kOperands && !options.json) return shown(operand_page(), options.markdown);
  isa::Opcode opcode;
  if (!isa::parse_opcode(options.name, opcode)) fail_unknown(options.name);
  const isa::InstructionInfo& row = isa::info(opcode);
  return options.json ? dump(json_of(row)) : shown(manual_page(row), options.markdown);
}

std::string all(const IsaOptions& options) {
  if (!options.json) return shown(listing(), options.markdown);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const isa::InstructionInfo& row : isa::all_instructions()) json.push_back(json_of(row));
  return dump(json);
}

Outcome isa_command(const IsaOptions& options, const CLI::App& root) {
  if (options.status) return {.out = status(root)};
  if (!options.manual_folder.empty()) {
    const int count = write_manual(options.manual_folder);
    return {.out = fmt::format("wrote {} pages to {}\n", count, options.manual_folder)};
  }
  return {.out = options.name.empty() ? all(options) : one(options)};
}

}  // namespace

Command add_isa(CLI::App& root) {
  auto options = std::make_shared<IsaOptions>();
  CLI::App* app = root.add_subcommand("isa", "the instruction set: list it, or show a manual page");
  CLI::Option* name = app->add_option("NAME", options->name, "an instruction, or `operands` for the rules they share");
  add_json(*app, options->json);
  app->add_flag("--markdown", options->markdown, "print Markdown")->excludes(kJsonOption);
  app->add_flag("--status", options->status, "print what is supported, the tables of docs/status.md")->excludes(name);
  app->add_option("--write-manual", options->manual_folder, "write all pages as Markdown into this folder")
      ->type_name("DIR")
      ->excludes(name);
  app->footer(
      examples({"kiln isa", "kiln isa nc_matmul", "kiln isa nc_matmul --json", "kiln isa --write-manual manual"}));
  return {app, [options, &root] { return isa_command(*options, root); }};
}

}  // namespace kiln::cli
