#include "cli/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/program_file.h"
#include "cli/python_options.h"
#include "cli/rules.h"
#include "kiln/base/file.h"
#include "kiln/base/npy.h"
#include "kiln/emit/emit.h"
#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/cache.h"
#include "kiln/tensor/lower/lower.h"
#include "kiln/tensor/lower/report.h"

namespace kiln::cli {
namespace {

struct CompileCommand {
  std::string file, out;
  std::optional<Target> target;
  int level = 2;
  bool report = false;
  std::vector<std::string> donated, arguments;
  std::string cache;
};

tensor::Graph read_graph(const std::string& path) {
  const bool standard_input = path == "-";
  return tensor::parse(read_file(standard_input ? "/dev/stdin" : path), standard_input ? "<stdin>" : path);
}

// Constants that are no single number are inputs: beside the program, as arrays.
void write_constants(const std::string& out, const std::vector<tensor::Constant>& constants) {
  const std::filesystem::path path(out);
  for (const tensor::Constant& c : constants) {
    const std::string name = fmt::format("{}.{}.npy", path.stem().string(), c.name);
    write_npy((path.parent_path() / name).string(),
              {c.array.type.dtype, c.array.type.shape, tensor::to_bytes(c.array)});
  }
}

// From the cache, or compiled now.
tensor::Kept compiled(const CompileCommand& command) {
  const tensor::Graph graph = read_graph(command.file);
  const tensor::CompileOptions options{
      .target = command.target.value_or(Target::trn2), .level = command.level, .donated = command.donated};
  const tensor::Cache cache(command.cache);
  const std::string key = command.cache.empty() ? "" : tensor::cache_key(graph, options);
  if (!command.cache.empty()) {
    if (std::optional<tensor::Kept> kept = cache.find(key)) return std::move(*kept);
  }
  tensor::Compiled made = tensor::compile(graph, options);
  const bool wants_report = command.report || !command.cache.empty();
  std::string report = wants_report ? tensor::report_text(made) : "";
  tensor::Kept kept{std::move(made.program), std::move(made.constants), std::move(report)};
  if (!command.cache.empty()) cache.put(key, kept);
  return kept;
}

Outcome compile(const CompileCommand& command) {
  if (!command.out.empty()) require_writable(std::span(&command.out, 1));
  const tensor::Kept kept = compiled(command);
  Outcome outcome;
  const bool python = command.out.ends_with(".py");
  std::string text = python ? emit::emit(isa::Launch(kept.program),
                                         {.origin = std::filesystem::path(command.file).filename().string()})
                            : isa::print(kept.program);
  if (command.out.empty()) {
    outcome.out = command.report ? kept.report : std::move(text);
    return outcome;
  }
  write_constants(command.out, kept.constants);
  write_atomically(command.out, text);
  if (command.report) outcome.out = kept.report;
  return outcome;
}

struct OptCommand {
  std::string file, passes, print_after;
};

Outcome opt(const OptCommand& command) {
  const auto results = tensor::run_passes(read_graph(command.file));
  Outcome outcome;
  std::vector<std::string_view> known;
  for (const auto& r : results) known.push_back(r.pass);
  const auto named = [&](const std::string& list, const std::string& pass) {
    return list == "all" || fmt::format(",{},", list).find(fmt::format(",{},", pass)) != std::string::npos;
  };
  for (const auto& r : results) {
    if (!command.print_after.empty() && named(command.print_after, r.pass))
      outcome.out += fmt::format("# after {}\n{}\n", r.pass, tensor::print(r.graph));
  }
  if (command.print_after.empty()) {
    const tensor::PassResult* last = &results.back();
    if (!command.passes.empty()) {
      last = nullptr;
      for (const auto& r : results) {
        if (named(command.passes, r.pass)) last = &r;
      }
      if (!last)
        throw Error(broken(cli_rules::kUsage, fmt::format("there is no pass `{}`", command.passes),
                           fmt::format("passes are {}", fmt::join(known, ", "))));
    }
    outcome.out = tensor::print(last->graph);
  }
  return outcome;
}

}  // namespace

Command add_compile(CLI::App& root) {
  auto command = std::make_shared<CompileCommand>();
  CLI::App* app = root.add_subcommand("compile", "make instructions of a tensor program");
  app->add_option("FILE", command->file,
                  "the tensor program (.kt), - is standard input; or file.py:function, a NumPy "
                  "function, whose file runs")
      ->required();
  app->add_option("-o,--out", command->out, "write to this file: .kiln, or .py for NKI source")->type_name("FILE");
  app->add_option("-O", command->level, "1: quick rules; 2: tilings compared with the timing model")
      ->check(CLI::Range(1, 2));
  app->add_option("--donate", command->donated, "an input that the program may overwrite: updates are made in place")
      ->type_name("NAME");
  app->add_flag("--report", command->report, "tell what the groups of the program are");
  app->add_option("--cache", command->cache, "a folder of compiled programs: what is in it is not compiled again")
      ->type_name("FOLDER");
  add_target(*app, command->target);
  add_arguments(*app, command->arguments);
  app->footer(examples({"kiln compile softmax.kt --report", "kiln compile softmax.kt --target trn2 -o softmax.kiln",
                        "kiln compile softmax.kt -o softmax.py",
                        "kiln compile model.py:layer --arg 'x=float32[128,1024]' --report"}));
  return {app, [command] { return compile(*command); }, [command] { return names_function(command->file); }};
}

Command add_opt(CLI::App& root) {
  auto command = std::make_shared<OptCommand>();
  CLI::App* app = root.add_subcommand("opt", "run passes over a tensor program, one by one");
  app->add_option("FILE", command->file, "the tensor program (.kt), - is standard input")->required();
  app->add_option("--passes", command->passes, "the program after the last of these; after all when not given");
  app->add_option("--print-after", command->print_after, "print the program after these passes, or `all`");
  app->footer(examples({"kiln opt softmax.kt", "kiln opt softmax.kt --passes canonicalize,decompose",
                        "kiln opt softmax.kt --print-after all"}));
  return {app, [command] { return opt(*command); }};
}

}  // namespace kiln::cli
