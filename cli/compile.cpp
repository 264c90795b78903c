#include "cli/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/program_file.h"
#include "cli/rules.h"
#include "kiln/base/file.h"
#include "kiln/base/npy.h"
#include "kiln/emit/emit.h"
#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/lower.h"

namespace kiln::cli {
namespace {

struct CompileCommand {
  std::string file, out;
  std::optional<Target> target;
  int level = 2;
  bool report = false;
  std::vector<std::string> donated;
};

tensor::Graph read_graph(const std::string& path) {
  const bool standard_input = path == "-";
  return tensor::parse(read_file(standard_input ? "/dev/stdin" : path), standard_input ? "<stdin>" : path);
}

std::string report_of(const tensor::Compiled& compiled, Target target) {
  std::string out = fmt::format("{} for {}: {} instructions in {} groups", compiled.program.name, arch(target).name,
                                compiled.program.instructions.size(), compiled.regions.size());
  if (compiled.time_ns > 0) out += fmt::format(", predicted {:.1f} us", compiled.time_ns / 1000);
  out += "\n";
  for (std::size_t i = 0; i < compiled.regions.size(); ++i) {
    const tensor::RegionReport& r = compiled.regions[i];
    out += fmt::format("  {}. {}\n     {} rows in blocks of 128 partitions", i + 1, r.ops, r.rows * r.packed);
    if (r.packed > 1) out += fmt::format(", {} rows per partition", r.packed);
    if (!r.loops.empty()) out += fmt::format(", loops over {}", fmt::join(r.loops, " x "));
    out += fmt::format(
        "; {} instructions\n     moves {:.1f} KB of HBM, {:.1f} KB of SBUF per partition; {} tilings compared\n",
        r.instructions, r.hbm_bytes / 1024, r.tile_bytes / 1024, r.alternatives);
  }
  return out;
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

Outcome compile(const CompileCommand& command) {
  if (!command.out.empty()) require_writable(std::span(&command.out, 1));
  const Target target = command.target.value_or(Target::trn2);
  const tensor::Compiled compiled =
      tensor::compile(read_graph(command.file), {.target = target, .level = command.level, .donated = command.donated});
  Outcome outcome;
  const bool python = command.out.ends_with(".py");
  std::string text = python ? emit::emit(isa::Launch(compiled.program),
                                         {.origin = std::filesystem::path(command.file).filename().string()})
                            : isa::print(compiled.program);
  if (command.out.empty()) {
    outcome.out = command.report ? report_of(compiled, target) : std::move(text);
    return outcome;
  }
  write_constants(command.out, compiled.constants);
  write_atomically(command.out, text);
  if (command.report) outcome.out = report_of(compiled, target);
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
  app->add_option("FILE", command->file, "the tensor program (.kt), - is standard input")->required();
  app->add_option("-o,--out", command->out, "write to this file: .kiln, or .py for NKI source")->type_name("FILE");
  app->add_option("-O", command->level, "1: quick rules; 2: tilings compared with the timing model")
      ->check(CLI::Range(1, 2));
  app->add_option("--donate", command->donated, "an input that the program may overwrite: updates are made in place")
      ->type_name("NAME");
  app->add_flag("--report", command->report, "tell what the groups of the program are");
  add_target(*app, command->target);
  app->footer(examples({"kiln compile softmax.kt --report", "kiln compile softmax.kt --target trn2 -o softmax.kiln",
                        "kiln compile softmax.kt -o softmax.py"}));
  return {app, [command] { return compile(*command); }};
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
