#include "cli/main.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "cli/compile.h"
#include "cli/emit.h"
#include "cli/opt.h"
#include "cli/options.h"
#include "cli/planned.h"
#include "cli/python_options.h"
#include "cli/rules.h"
#include "cli/usage.h"
#include "kiln/base/printable.h"
#include "kiln/base/terminal.h"

namespace kiln::cli {
namespace {

std::vector<Command> add_commands(CLI::App& root, const Host& host) {
  std::vector<Command> commands{add_check(root),   add_run(root), add_time(root, host), add_emit(root),
                                add_compile(root), add_opt(root), add_isa(root),        add_explain(root)};
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
  if (json && outcome.out.empty() && (code != kExitOk || !outcome.is_told_elsewhere))
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

// `kiln script.py` and `kiln -m module` are `kiln run ...`.
void add_run_to_scripts(std::vector<std::string>& words) {
  if (!words.empty() && (is_python(words[0]) || words[0] == "-m")) words.insert(words.begin(), "run");
}

// Takes `--` and what follows it from a command line that runs a script: the script's own words.
std::vector<std::string> take_script_words(std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const bool runs = !words.empty() && words[0] == "run";
  if (!runs || std::none_of(words.begin(), end, [](const auto& w) { return is_python(w) || w == "-m"; })) return {};
  std::vector<std::string> taken(end == words.end() ? end : end + 1, words.end());
  words.erase(end, words.end());
  return taken;
}

int start(const Command& command, const Host& host, std::vector<std::string> words,
          std::vector<std::string> script_words) {
  const bool for_python = command.is_for_python();
  try {
    require_fitting_groups(*command.app, for_python);
  } catch (const Error& e) {
    return show({.diagnostics = e.diagnostics()}, wants_json(*command.app));
  }
  if (for_python && !host.trace)
    return host.hand_over(request_of(*command.app, std::move(words), std::move(script_words)));
  return show(perform(command), wants_json(*command.app));
}

int run_command(std::vector<std::string> words, const Host& host) {
  CLI::App root("kiln: checks, runs and times kernels for AWS Trainium", "kiln");
  root.set_version_flag("--version", "kiln " KILN_VERSION);
  root.require_subcommand(1);
  root.footer(
      "kiln COMMAND --help tells more about a command.\n" +
      examples({"kiln check softmax.py --arg x=float32[128,512]", "kiln run softmax.py",
                "kiln run softmax.kiln --in x=x.npy --out y=y.npy", "kiln time softmax.kiln --html softmax.html",
                "kiln isa nc_matmul", "kiln explain nc_matmul.R3"}) +
      "\nExit code: 0 fine, 1 the program breaks a rule, 2 wrong usage or file, 3 a bug of kiln.");
  std::vector<Command> commands = add_commands(root, host);
  commands.push_back(add_help(root));
  add_run_to_scripts(words);
  const std::vector<std::string> all_words = words;
  std::vector<std::string> script_words = take_script_words(words);
  try {
    root.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
  } catch (const CLI::Success& wish) {                                   // --help and --version
    return root.exit(wish) == 0 ? kExitOk : kExitUsage;
  } catch (const CLI::ParseError& error) {
    return show({.diagnostics = {usage_error(root, error, words)}}, false);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return start(command, host, all_words, std::move(script_words));
  }
  return kExitUsage;
}

}  // namespace

int main(std::vector<std::string> words, const Host& host) {
  int code = kExitInternal;
  try {
    code = run_command(std::move(words), host);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
  }
  std::fflush(stdout);  // what CLI11 printed, before a host such as Python prints
  return code;
}

}  // namespace kiln::cli
