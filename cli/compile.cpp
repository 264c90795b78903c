#include "cli/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/model.h"
#include "cli/program_file.h"
#include "cli/progress.h"
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
#include "kiln/tensor/lower/tuner.h"
#include "kiln/tensor/passes/bodies.h"
#include "kiln/tensor/passes/cut.h"

namespace kiln::cli {
namespace {

struct CompileCommand {
  std::string file, out;
  std::optional<Target> target;
  int level = 2, lnc = 1;
  double time_limit = 60;
  std::int64_t kernel_ops = tensor::kMostOps;
  unsigned seed = 0;
  bool report = false;
  std::vector<std::string> donated, arguments;
  std::string cache;
};

// Constants that are no single number are inputs: beside the program, as arrays.
void write_constants(const std::string& out, const std::vector<tensor::Constant>& constants) {
  const std::filesystem::path path(out);
  for (const tensor::Constant& c : constants) {
    const std::string name = fmt::format("{}.{}.npy", path.stem().string(), c.name);
    write_npy((path.parent_path() / name).string(),
              {c.array.type.dtype, c.array.type.shape, tensor::to_bytes(c.array)});
  }
}

// A search tells how far it is, and keeps the times that it knows in the cache.
tensor::Compiled compiled_now(const CompileCommand& command, const tensor::Graph& graph,
                              const tensor::CompileOptions& options) {
  if (command.level < 3) return tensor::compile(graph, options);
  Progress progress("searching");
  tensor::TuneOptions how{.seconds = command.time_limit, .seed = command.seed};
  how.progress = [&](const tensor::Tuner& tuner, double part) {
    progress.next(fmt::format("searching: {} programs, {:.1f} us, {:.1f} at level 2", tuner.tried(),
                              tuner.best_ns() / 1000, tuner.first_ns() / 1000));
    progress.done() = part;
  };
  if (!command.cache.empty()) {
    how.file = tensor::Cache(command.cache)
                   .path(fmt::format("seed {}\n{}", command.seed, tensor::cache_key(graph, options)), "kilnsearch");
  }
  return tensor::tuned(graph, options, how);
}

tensor::CompileOptions options_of(const CompileCommand& command) {
  return {.target = command.target.value_or(Target::trn2),
          .level = command.level,
          .lnc = command.lnc,
          .donated = command.donated};
}

// Names of --donate are inputs.
void require_inputs(const tensor::Graph& graph, const std::vector<std::string>& names) {
  std::vector<std::string> inputs;
  for (const tensor::Op& op : graph.ops()) {
    if (op.code == tensor::OpCode::input) inputs.push_back(op.text("name"));
  }
  for (const std::string& name : names) {
    if (std::ranges::find(inputs, name) == inputs.end())
      throw Error(broken(cli_rules::kUsage, fmt::format("--donate: there is no input `{}`", name),
                         fmt::format("inputs are {}", fmt::join(inputs, ", "))));
  }
}

// A program that is too large for one kernel.
Outcome compile_several(const CompileCommand& command, const tensor::Graph& graph) {
  const tensor::Model model = tensor::compile_model(
      graph, options_of(command),
      {.most_ops = command.kernel_ops, .compile = [&](const tensor::Graph& kernel, const tensor::CompileOptions& with) {
         return compiled_now(command, kernel, with);
       }});
  Outcome outcome;
  if (!command.out.empty()) write_model(model, command.out, std::filesystem::path(command.file).filename().string());
  if (command.report) outcome.out = tensor::report_text(model);
  if (!command.report && command.out.empty()) {
    for (const tensor::Compiled& kernel : model.kernels) {
      for (const isa::Program* program : kernel.launch().programs) outcome.out += isa::print(*program);
    }
  }
  return outcome;
}

// From the cache, or compiled now.
tensor::Kept compiled(const CompileCommand& command, const tensor::Graph& graph) {
  const tensor::CompileOptions options = options_of(command);
  const tensor::Cache cache(command.cache);
  std::string key = command.cache.empty() ? "" : tensor::cache_key(graph, options);
  if (command.level >= 3) key = fmt::format("seed {}, {} s\n{}", command.seed, command.time_limit, key);
  if (!command.cache.empty()) {
    if (std::optional<tensor::Kept> kept = cache.find(key)) return std::move(*kept);
  }
  tensor::Compiled made = compiled_now(command, graph, options);
  const bool wants_report = command.report || !command.cache.empty();
  std::string report = wants_report ? tensor::report_text(made) : "";
  auto groups = tensor::groups_in_words(made);
  tensor::Kept kept{{std::move(made.program)}, std::move(made.constants), std::move(report), std::move(groups)};
  if (made.peer) kept.programs.push_back(std::move(*made.peer));
  if (!command.cache.empty()) cache.put(key, kept);
  return kept;
}

// One file, or one for each core of a pair: softmax.core0.kiln and softmax.core1.kiln.
std::vector<std::string> program_files(const std::string& out, std::size_t cores) {
  if (cores == 1) return {out};
  std::vector<std::string> files;
  std::filesystem::path path(out);
  const std::string stem = path.stem().string(), ending = path.extension().string();
  for (std::size_t i = 0; i < cores; ++i)
    files.push_back(path.replace_filename(fmt::format("{}.core{}{}", stem, i, ending)).string());
  return files;
}

Outcome compile(const CompileCommand& command) {
  const bool python = command.out.ends_with(".py");
  const std::vector<std::string> files = program_files(command.out, python ? 1 : static_cast<std::size_t>(command.lnc));
  if (!command.out.empty()) {
    require_apart(std::span(&command.file, 1), files);
    require_writable(files);
  }
  if (!command.cache.empty()) require_folder(command.cache);
  const tensor::Graph graph = read_graph(command.file);
  require_inputs(graph, command.donated);
  if (tensor::counted_ops(tensor::inlined(graph)) > command.kernel_ops) return compile_several(command, graph);
  const tensor::Kept kept = compiled(command, graph);
  Outcome outcome;
  std::vector<std::string> texts;
  if (python) {
    texts.push_back(
        emit::emit(isa::Launch::of(kept.programs),
                   {.origin = std::filesystem::path(command.file).filename().string(), .groups = kept.groups}));
  } else {
    for (const isa::Program& program : kept.programs) texts.push_back(isa::print(program));
  }
  if (command.out.empty()) {
    for (std::string& text : texts) outcome.out += command.report ? "" : std::move(text);
    if (command.report) outcome.out = kept.report;
    return outcome;
  }
  write_constants(command.out, kept.constants);
  for (std::size_t i = 0; i < texts.size(); ++i) write_atomically(files[i], texts[i]);
  if (command.report) outcome.out = kept.report;
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
  app->add_option("-O", command->level,
                  "1: quick rules; 2: tilings compared with the timing model; 3: a search with the timing model")
      ->check(CLI::Range(1, 3));
  app->add_option("--lnc", command->lnc, "2: split over the two cores of a pair; two .kiln files, one .py")
      ->check(CLI::Range(1, 2));
  app->add_option("--time-limit", command->time_limit, "of the search of -O 3; with --cache it goes on where it was")
      ->check(above_zero())
      ->type_name("SECONDS");
  app->add_option("--seed", command->seed, "of the search of -O 3");
  app->add_option("--donate", command->donated, "an input that the program may overwrite: updates are made in place")
      ->type_name("NAME");
  app->add_option("--kernel-ops", command->kernel_ops,
                  "programs with more ops become several kernels: model.kernel0.kiln, ..., and model.plan.json")
      ->check(above_zero())
      ->type_name("N");
  app->add_flag("--report", command->report, "tell what the groups of the program are");
  app->add_option("--cache", command->cache, "a folder of compiled programs: what is in it is not compiled again")
      ->type_name("FOLDER");
  add_target(*app, command->target);
  add_arguments(*app, command->arguments);
  app->footer(examples({"kiln compile softmax.kt --report", "kiln compile softmax.kt --target trn2 -o softmax.kiln",
                        "kiln compile softmax.kt -o softmax.py", "kiln compile softmax.kt --lnc 2 -o softmax.kiln",
                        "kiln compile softmax.kt -O 3 --time-limit 30 --cache compiled",
                        "kiln compile model.py:layer --arg 'x=float32[128,1024]' --report"}));
  return {app, [command] { return compile(*command); }, [command] { return names_function(command->file); }};
}

}  // namespace kiln::cli
