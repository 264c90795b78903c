#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/options.h"
#include "cli/python_options.h"
#include "cli/rules.h"
#include "kiln/base/suggest.h"

namespace kiln::cli {
namespace {

const CLI::App* command_named(const CLI::App& root, const std::string& name) {
  const std::vector<const CLI::App*> all = all_commands(root);
  const auto found = std::find_if(all.begin(), all.end(), [&](const CLI::App* app) { return app->check_name(name); });
  return found == all.end() ? nullptr : *found;
}

// The commands that have an option, as in "kiln check, kiln time and kiln emit have it".
std::string who_has(const CLI::App& root, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::App* app : all_commands(root)) {
    if (app->get_option_no_throw(option)) names.push_back("kiln " + app->get_name());
  }
  if (names.empty()) return "";
  if (names.size() == 1) return names[0] + " has it";
  return fmt::format("{} and {} have it", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::string nearest_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return std::string(suggest(word, names));
}

// An option that the command does not have, or a word too many.
Diagnostic unexpected(const CLI::App& root, const CLI::App& command, const std::vector<std::string>& words) {
  const std::vector<std::string> left = command.remaining();
  const std::string word = left.empty() ? "" : left.front().substr(0, left.front().find('='));
  if (!word.starts_with('-'))
    return broken(cli_rules::kUsage, fmt::format("`{}` is one word too many for kiln {}", word, command.get_name()),
                  fmt::format("see kiln {} --help", command.get_name()));
  std::string help = did_you_mean(nearest_option(command, word), who_has(root, word));
  const auto script = std::find_if(words.begin(), words.end(), is_python);
  if (command.get_name() == "run" && script != words.end()) {
    help += fmt::format("{}options of the script come after `--`: kiln run {} -- {}", help.empty() ? "" : "; ", *script,
                        word);
  }
  if (help.empty()) help = fmt::format("see kiln {} --help", command.get_name());
  return broken(cli_rules::kUsage, fmt::format("kiln {} has no option `{}`", command.get_name(), word), help);
}

}  // namespace

Diagnostic usage_error(const CLI::App& root, const CLI::ParseError& error, const std::vector<std::string>& words) {
  if (words.empty()) return broken(cli_rules::kUsage, "no command is given");
  const std::string& first = words.front();
  if (const CLI::App* command = command_named(root, first)) {
    if (dynamic_cast<const CLI::ExtrasError*>(&error)) return unexpected(root, *command, words);
    return broken(cli_rules::kUsage, error.what(), fmt::format("see kiln {} --help", first));
  }
  if (first.starts_with('-')) return broken(cli_rules::kUsage, fmt::format("`{}` stands before the command", first));
  Suggest suggest(first);
  for (const CLI::App* command : all_commands(root)) suggest.consider(command->get_name());
  return broken(cli_rules::kUsage, fmt::format("there is no command `{}`", first), did_you_mean(suggest.best()));
}

}  // namespace kiln::cli
