// What subcommands share: how they are declared, and the options that mean the same everywhere.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "cli/host.h"
#include "cli/outcome.h"
#include "kiln/arch/arch.h"

namespace kiln::cli {

// A subcommand and what it does once its options are known.
struct Command {
  CLI::App* app;
  std::function<Outcome()> run;
  std::function<bool()> is_for_python = [] { return false; };
};

Command add_check(CLI::App& root);
Command add_run(CLI::App& root);
Command add_time(CLI::App& root, const Host& host);
Command add_isa(CLI::App& root);
Command add_explain(CLI::App& root);

// All subcommands, in the order of the help text.
std::vector<const CLI::App*> all_commands(const CLI::App& root);

// --target, one of the generations' names.
void add_target(CLI::App& app, std::optional<Target>& target);
// --target, a generation's name or `all`.
struct Targets {
  std::optional<Target> one;  // nothing: the program's own, or all
  bool all = false;
};
void add_targets(CLI::App& app, Targets& targets);
// --source-root: folders whose files a program may show (ParseOptions).
void add_source_roots(CLI::App& app, std::vector<std::string>& folders);
// --json: the outcome as JSON on stdout, diagnostics included.
void add_json(CLI::App& app, bool& json);
inline constexpr const char* kJsonOption = "--json";
// What takes a number above zero: says so where there is none.
CLI::Validator above_zero();
// --max-memory: bytes, as in 8G; 0 stays when it is not given.
void add_max_memory(CLI::App& app, std::int64_t& bytes);

// The example lines below a subcommand's options.
std::string examples(std::initializer_list<const char*> lines);

}  // namespace kiln::cli
