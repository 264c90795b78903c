#include "cli/opt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/model.h"
#include "cli/rules.h"
#include "kiln/base/suggest.h"
#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/stages.h"

namespace kiln::cli {
namespace {

constexpr const char* kAll = "all";

struct OptCommand {
  std::string file;
  std::vector<std::string> passes, print_after, time_after;
  std::optional<Target> target;
  bool ops = false;
};

// The names that an option has, all of which are stages; `all` stands for each of them.
std::vector<std::string> named(const char* option, const std::vector<std::string>& given) {
  const std::vector<std::string> known = tensor::stage_names();
  if (given == std::vector<std::string>{kAll}) return known;
  for (const std::string& name : given) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw Error(broken(cli_rules::kUsage, fmt::format("{}: there is no pass `{}`", option, name),
                       did_you_mean(suggest(name, known), fmt::format("passes are {}", fmt::join(known, ", ")))));
  }
  return given;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_behind_passes(const std::string& name) {
  return name == tensor::kInstructionsStage || name == tensor::kCandidatesStage;
}

std::string shown(const tensor::Stage& stage) {
  if (stage.graph) return tensor::print(*stage.graph);
  std::string out;
  for (const isa::Program* program : stage.made->launch().programs) out += isa::print(*program);
  return out;
}

// What each of these stages takes of the processor, and brings.
std::string times(const std::vector<tensor::Stage>& stages, const std::vector<std::string>& names,
                  const tensor::CompileOptions& options) {
  std::string out = fmt::format("{:<16}{:>6}{:>14}{:>14}\n", "after", "ops", "predicted us", "processor ms");
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const tensor::Stage& stage = stages[i];
    if (!has(names, stage.name)) continue;
    const auto ns = tensor::predicted_ns(stages, i, options);
    const std::string ops = stage.graph ? std::to_string(stage.graph->size()) : "";
    const std::string us = ns ? fmt::format("{:.1f}", *ns / 1000) : "no program";
    out += fmt::format("{:<16}{:>6}{:>14}{:>14.2f}\n", stage.name, ops, us, stage.seconds * 1000);
  }
  return out;
}

// The table of ops, one line each.
std::string ops() {
  std::string out;
  for (const tensor::OpCode code : tensor::all_ops()) {
    const tensor::OpInfo& op = tensor::info(code);
    out += fmt::format("{}\n    {}\n", tensor::to_string(op), op.meaning);
  }
  return out;
}

Outcome opt(const OptCommand& command) {
  if (command.ops) return {.out = ops()};
  if (command.file.empty()) throw Error(broken(cli_rules::kUsage, "kiln opt needs a FILE", "or --ops: kiln opt --ops"));
  const auto passes = named("--passes", command.passes);
  const auto printed = named("--print-after", command.print_after), timed = named("--time-after", command.time_after);
  const tensor::CompileOptions options{.target = command.target.value_or(Target::trn2)};
  const auto is_wanted = [&](const auto& names) { return std::ranges::any_of(names, is_behind_passes); };
  const bool whole = is_wanted(passes) || is_wanted(printed) || is_wanted(timed);
  const auto stages = tensor::stages(read_graph(command.file), options, whole);
  Outcome outcome;
  for (const tensor::Stage& stage : stages) {
    if (has(printed, stage.name)) outcome.out += fmt::format("# after {}\n{}\n", stage.name, shown(stage));
  }
  if (!timed.empty()) outcome.out += times(stages, timed, options);
  if (!printed.empty() || !timed.empty()) return outcome;
  const tensor::Stage* last = nullptr;
  for (const tensor::Stage& stage : stages) {
    if (passes.empty() || has(passes, stage.name)) last = &stage;
  }
  return {.out = shown(*last)};
}

}  // namespace

Command add_opt(CLI::App& root) {
  auto command = std::make_shared<OptCommand>();
  CLI::App* app = root.add_subcommand("opt", "run passes over a tensor program, one by one");
  app->add_option("FILE", command->file, "the tensor program (.kt), - is standard input");
  const auto add = [&](const char* option, std::vector<std::string>& names, const char* meaning) {
    app->add_option(option, names, meaning)->delimiter(',')->type_name("PASS,...");
  };
  add("--passes", command->passes, "the program after the last of these; after all when not given");
  add("--print-after", command->print_after, "print the program after these passes, or `all`");
  add("--time-after", command->time_after,
      "predicted time after these passes, with none of what comes later but what instructions need, and the processor "
      "time that they take; or `all`");
  app->add_flag("--ops", command->ops, "list the ops of tensor programs");
  add_target(*app, command->target);
  app->footer(examples({"kiln opt softmax.kt", "kiln opt softmax.kt --passes canonicalize,decompose",
                        "kiln opt softmax.kt --print-after all", "kiln opt softmax.kt --time-after all",
                        "kiln opt softmax.kt --print-after instructions", "kiln opt --ops"}));
  return {app, [command] { return opt(*command); }};
}

}  // namespace kiln::cli
