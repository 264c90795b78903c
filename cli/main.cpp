#include "cli/main.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/planned.h"
#include "cli/rules.h"
#include "kiln/base/printable.h"
#include "kiln/base/suggest.h"
#include "kiln/base/terminal.h"

namespace kiln::cli {
namespace {

std::vector<Command> add_commands(CLI::App& root, const GivenPrograms& given) {
  std::vector<Command> commands{add_check(root), add_run(root), add_time(root, given), add_isa(root),
                                add_explain(root)};
  for (Command& planned : add_planned(root)) commands.push_back(std::move(planned));
  return commands;
}

// `kiln help` and `kiln help COMMAND`, for those who type it.
Command add_help(CLI::App& root) {
  auto name = std::make_shared<std::string>();
  CLI::App* app = root.add_subcommand("help", "show this, or the help of a command");
  app->add_option("COMMAND", *name, "a command");
  // Once a command is parsed, CLI11 shows its help for the root's.
  return {app, [name, &root, overview = root.help()]() -> Outcome {
            if (name->empty()) return {.out = overview};
            for (const CLI::App* command : all_commands(root)) {
              if (command->check_name(*name)) return {.out = command->help("kiln")};
            }
            throw Error(broken(cli_rules::kUsage, fmt::format("there is no command `{}`", *name)));
          }};
}

Diagnostic usage_error(const CLI::App& root, const CLI::ParseError& error, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (argc < 2) return broken(cli_rules::kUsage, "no command is given");
  Suggest suggest(first);
  for (const CLI::App* command : all_commands(root)) {
    if (command->check_name(first))
      return broken(cli_rules::kUsage, error.what(), fmt::format("see kiln {} --help", first));
    suggest.consider(command->get_name());
  }
  if (first.starts_with('-')) return broken(cli_rules::kUsage, fmt::format("`{}` stands before the command", first));
  return broken(cli_rules::kUsage, fmt::format("there is no command `{}`", first), did_you_mean(suggest.best()));
}

Outcome perform(const Command& command) {
  try {
    return command.run();
  } catch (const Error& e) {
    return {.diagnostics = e.diagnostics()};
  } catch (const std::bad_alloc&) {
    return {.diagnostics = {broken(cli_rules::kMemory, "the memory of this machine is used up")}};
  } catch (const std::exception& e) {
    Diagnostic d{.category = Category::internal, .found = e.what(), .help = "this is a bug of kiln: please report it"};
    return {.diagnostics = {std::move(d)}};
  }
}

bool write(std::FILE* file, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

int show(Outcome outcome, bool json) {
  const ExitCode code = exit_code(outcome.diagnostics);
  if (json && outcome.out.empty())
    outcome.out = dump({{"ok", code == kExitOk}, {"diagnostics", json_of(outcome.diagnostics)}});
  if (!json) {
    const TextStyle style{.colour = wants_colour(STDERR_FILENO)};
    for (const Diagnostic& d : outcome.diagnostics) write(stderr, to_text(d, style) + "\n\n");
  }
  if (::isatty(STDOUT_FILENO)) outcome.out = printable(outcome.out);
  if (write(stdout, outcome.out)) return code;
  write(stderr, fmt::format("error: cannot write to standard output: {}\n", std::strerror(errno)));
  return std::max(code, kExitUsage);
}

bool wants_json(const CLI::App& app) {
  const CLI::Option* option = app.get_option_no_throw(kJsonOption);
  return option && option->count() > 0;
}

int run_command(int argc, char** argv, const GivenPrograms& given) {
  CLI::App root("kiln: checks, runs and times kernels for AWS Trainium", "kiln");
  root.set_version_flag("--version", "kiln " KILN_VERSION);
  root.require_subcommand(1);
  root.footer(
      "kiln COMMAND --help tells more about a command.\n" +
      examples({"kiln check softmax.kiln", "kiln run softmax.kiln --in x=x.npy --out y=y.npy",
                "kiln time softmax.kiln --html softmax.html", "kiln isa nc_matmul", "kiln explain nc_matmul.R3"}) +
      "\nExit code: 0 fine, 1 the program breaks a rule, 2 wrong usage or file, 3 a bug of kiln.");
  std::vector<Command> commands = add_commands(root, given);
  commands.push_back(add_help(root));
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help and --version
    return root.exit(wish) == 0 ? kExitOk : kExitUsage;
  } catch (const CLI::ParseError& error) {
    return show({.diagnostics = {usage_error(root, error, argc, argv)}}, false);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return show(perform(command), wants_json(*command.app));
  }
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv, const GivenPrograms& given) {
  int code = kExitInternal;
  try {
    code = run_command(argc, argv, given);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
  }
  std::fflush(stdout);  // what CLI11 printed, before a host such as Python prints
  return code;
}

}  // namespace kiln::cli
