#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <list>
#include <nlohmann/json.hpp>

#include "cli/bindings.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/program_file.h"
#include "cli/progress.h"
#include "cli/python_options.h"
#include "cli/rules.h"
#include "kiln/base/file.h"
#include "kiln/base/quantity_text.h"
#include "kiln/check/same_work.h"
#include "kiln/sim/machine.h"
#include "kiln/sim/memory_need.h"
#include "kiln/sim/mpi_processes.h"
#include "kiln/sim/processes.h"

namespace kiln::cli {
namespace {

constexpr std::int64_t kShownValues = 8;

struct RunCommand {
  std::vector<std::string> files;
  Bindings bindings;
  std::optional<Target> target;
  std::vector<std::string> source_roots;
  std::vector<std::string> arguments;  // of a NumPy function
  std::string module;                  // a Python module to run; empty: none
  sim::RunOptions options;
  int ranks = 1;
  int lnc = 0;  // cores of a rank; 0: as the files have it, 1 where they do not say
  bool json = false;

  bool is_for_python() const { return !module.empty() || (!files.empty() && is_python(files[0])); }
};

// The programs, all legal; throws Error with the diagnostics of all otherwise. Warnings go to `warnings`.
std::vector<CheckedProgram> load_programs(const RunCommand& command, std::vector<Diagnostic>& warnings) {
  require_one_stdin(command.files);
  std::vector<CheckedProgram> programs;
  for (const std::string& file : command.files)
    programs.push_back(check_file(file, command.target, command.source_roots));
  for (const CheckedProgram& p : programs) {
    warnings.insert(warnings.end(), p.report.diagnostics.begin(), p.report.diagnostics.end());
  }
  if (exit_code(warnings) != kExitOk) throw Error(warnings);
  return programs;
}

// Element `i` as text; packed elements as their four values.
std::string value_text(const NpyArray& array, std::int64_t i) {
  const std::uint32_t bits = load_bits(array.dtype, array.data.data() + i * size_bytes(array.dtype));
  if (is_packed(array.dtype)) {
    return fmt::format("[{} {} {} {}]", unpack(array.dtype, bits, 0), unpack(array.dtype, bits, 1),
                       unpack(array.dtype, bits, 2), unpack(array.dtype, bits, 3));
  }
  const bool whole = is_integer(array.dtype) || array.dtype == DType::bool_;
  return whole ? fmt::format("{}", to_int(array.dtype, bits)) : fmt::format("{}", to_float(array.dtype, bits));
}

std::vector<std::string> first_values(const NpyArray& array) {
  const std::int64_t count = static_cast<std::int64_t>(array.data.size()) / size_bytes(array.dtype);
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < std::min(count, kShownValues); ++i) values.push_back(value_text(array, i));
  if (count > kShownValues) values.push_back("...");
  return values;
}

// What one rank reads and writes; empty where another process does.
struct OfRank {
  Ports ports;
  Arrays arrays;
};

struct Result {
  const RunCommand& command;
  std::string title;
  std::string_view chip;
  const std::vector<OfRank>& ranks;
  sim::RunReport report;
  double seconds;
  double rank_bytes;  // of the tensors of a rank
};

// Calls fn(rank, tensor, port, array) for all outputs.
template <class Fn>
void for_outputs(const Result& r, Fn&& fn) {
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank) {
    for (const auto& [tensor, port] : r.ranks[rank].ports) {
      if (port.is_output) fn(rank, tensor, port, r.ranks[rank].arrays.at(tensor));
    }
  }
}

// What all processes say of their ranks, one after the other.
std::vector<std::string> of_all(const Result& r, const std::string& own) {
  sim::Processes* const processes = r.command.options.processes;
  return processes ? sim::all_say(*processes, own) : std::vector{own};
}

std::string text_of(const Result& r) {
  std::string text;
  for_outputs(r, [&](std::size_t rank, const std::string& tensor, const Port& port, const NpyArray& array) {
    text += fmt::format("  {}{}: {} {}", tensor, r.ranks.size() > 1 ? fmt::format(" of rank {}", rank) : "",
                        name(array.dtype), shape_text(array.shape));
    if (r.command.bindings.print) text += fmt::format(": {}", fmt::join(first_values(array), " "));
    if (!port.out_file.empty()) text += fmt::format(" -> {}", port.out_file);
    text += '\n';
  });
  const std::string ranks =
      r.ranks.size() > 1 ? fmt::format(", {} ranks with {} each", r.ranks.size(), bytes_text(r.rank_bytes)) : "";
  return fmt::format("{} for {}: {} instructions in {:.3f} s{}\n{}", r.title, r.chip, r.report.instructions, r.seconds,
                     ranks, fmt::join(of_all(r, text), ""));
}

std::string json_text_of(const Result& r, const std::vector<Diagnostic>& warnings) {
  nlohmann::ordered_json engines = nlohmann::ordered_json::object();
  analysis::for_each_engine(r.report.instructions_by_engine,
                            [&](const std::string& engine, std::int64_t count) { engines[engine] = count; });
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for_outputs(r, [&](std::size_t rank, const std::string& tensor, const Port& port, const NpyArray& array) {
    outputs.push_back({{"name", tensor}, {"dtype", name(array.dtype)}, {"shape", array.shape}});
    if (r.ranks.size() > 1) outputs.back()["rank"] = rank;
    if (!port.out_file.empty()) outputs.back()["file"] = port.out_file;
    if (r.command.bindings.print) outputs.back()["first_values"] = first_values(array);
  });
  nlohmann::ordered_json all_outputs = nlohmann::ordered_json::array();
  for (const std::string& text : of_all(r, outputs.dump())) {
    for (const auto& output : nlohmann::ordered_json::parse(text)) all_outputs.push_back(output);
  }
  return dump({{"ok", true},
               {"program", r.title},
               {"target", r.chip},
               {"seconds", r.seconds},
               {"ranks", r.ranks.size()},
               {"bytes_of_a_rank", static_cast<std::int64_t>(r.rank_bytes)},
               {"instructions", r.report.instructions},
               {"instructions_by_engine", std::move(engines)},
               {"outputs", std::move(all_outputs)},
               {"diagnostics", json_of(warnings)}});
}

sim::RunReport simulate(const isa::Launch& launch, std::vector<OfRank>& ranks, const RunCommand& command) {
  std::vector<sim::Buffers> buffers(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (auto& [tensor, array] : ranks[r].arrays) buffers[r][tensor] = {array.data.data(), array.data.size()};
  }
  Progress progress("running");
  sim::RunOptions options = command.options;
  options.done = &progress.done();
  return sim::run(launch, arch(launch.target()), buffers, options);
}

// The file of an inout tensor may be the one that its values come from; nothing else that is read is overwritten.
void require_outputs(const RunCommand& command, const Ports& ports) {
  std::vector<std::string> outputs;
  for (const auto& [tensor, port] : ports) {
    if (port.out_file.empty()) continue;
    outputs.push_back(port.out_file);
    std::vector<std::string> inputs = command.files;
    for (const auto& [other, from] : ports) {
      if (other != tensor && !from.in_file.empty()) inputs.push_back(from.in_file);
    }
    require_apart(inputs, std::span(&port.out_file, 1));
  }
  require_writable(outputs);
}

void write_outputs(const std::vector<OfRank>& ranks) {
  std::list<std::string> headers;
  std::vector<FileParts> files;
  for (const OfRank& rank : ranks) {
    for (const auto& [tensor, port] : rank.ports) {
      if (port.out_file.empty()) continue;
      const NpyArray& array = rank.arrays.at(tensor);
      headers.push_back(npy_header(array, port.out_file));
      files.push_back({port.out_file, {std::as_bytes(std::span(headers.back())), array.data}});
    }
  }
  write_all_or_none(files);
}

// Whether this process runs the rank.
bool is_here(const RunCommand& command, int rank) {
  const sim::Processes* const processes = command.options.processes;
  return !processes || sim::process_of(rank, command.ranks, processes->count()) == processes->self();
}

// Those ranks, with their files.
std::vector<OfRank> bind_ranks(const RunCommand& command, const isa::Launch& one) {
  std::vector<OfRank> ranks(command.ranks);
  for (int rank = 0; rank < command.ranks; ++rank) {
    if (!is_here(command, rank)) continue;
    ranks[rank].ports = bind_ports(one, of_rank(command.bindings, rank, command.ranks));
    require_outputs(command, ranks[rank].ports);
  }
  return ranks;
}

// What is printed: of several processes the first one speaks for all.
Outcome told(const Result& result, std::vector<Diagnostic> warnings) {
  Outcome outcome{.diagnostics = std::move(warnings)};
  outcome.out = result.command.json ? json_text_of(result, outcome.diagnostics) : text_of(result);
  const sim::Processes* const processes = result.command.options.processes;
  if (processes && processes->self() != 0) {
    outcome.out.clear();
    outcome.is_told_elsewhere = true;
  }
  return outcome;
}

// A tensor program: compiled, as one kernel or several, and run.
Outcome run_tensor_program(const RunCommand& command) {
  if (command.files.size() > 1)
    throw Error(broken(cli_rules::kKindOfFile, fmt::format("`{}` is one tensor program", command.files[0])));
  const tensor::Graph graph = read_graph(command.files[0]);
  const Target target = command.target.value_or(Target::trn2);
  const isa::Program outside = outside_of(graph, target);
  std::vector<OfRank> ranks = bind_ranks(command, outside);
  const tensor::Model model = tensor::compile_model(graph, {.target = target, .lnc = std::max(1, command.lnc)});
  std::vector<Arrays*> arrays;
  for (int rank = 0; rank < command.ranks; ++rank) {
    ranks[rank].arrays = load_arrays(ranks[rank].ports);
    arrays.push_back(is_here(command, rank) ? &ranks[rank].arrays : nullptr);
  }
  const auto start = std::chrono::steady_clock::now();
  sim::RunReport report = run_model(model, arrays, command.options);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  write_outputs(ranks);
  std::vector<Diagnostic> warnings = report.warnings;
  double most = 0;
  for (const tensor::Compiled& kernel : model.kernels) most = std::max(most, sim::memory_need(kernel.launch()));
  return told({command, graph.name, arch(target).name, ranks, std::move(report), elapsed.count(), most},
              std::move(warnings));
}

// One file for each core.
void require_files(const RunCommand& command) {
  if (command.files.size() > 2) {
    throw Error(broken(cli_rules::kUsage, fmt::format("`{}` is one program too many", command.files[2]),
                       "run one program, or the two of a pair of cores"));
  }
  const bool is_text = !command.files[0].ends_with(".kt");
  if (is_text && command.lnc > 0 && static_cast<int>(command.files.size()) != command.lnc) {
    const bool one = command.files.size() == 1;
    throw Error(broken(cli_rules::kPair,
                       fmt::format("--lnc {} and {} program{}", command.lnc, command.files.size(), one ? "" : "s"),
                       one ? "name the programs of both cores: kiln run core0.kiln core1.kiln" : "leave --lnc out"));
  }
}

Outcome run(RunCommand& command) {
  command.options.processes = sim::mpi_processes();
  if (command.files.empty()) throw Error(broken(cli_rules::kUsage, "FILE is required", "see kiln run --help"));
  require_files(command);
  if (command.files[0].ends_with(".kt")) return run_tensor_program(command);
  std::vector<Diagnostic> warnings;
  const std::vector<CheckedProgram> programs = load_programs(command, warnings);
  std::vector<const isa::Program*> cores;
  for (const CheckedProgram& p : programs) cores.push_back(&p.program);
  const isa::Launch one(std::move(cores));
  require_pair(one);
  check::check_shared_work(one, warnings);
  const isa::Launch launch = one.on_ranks(command.ranks);
  isa::require_ranks(launch);

  std::vector<OfRank> ranks = bind_ranks(command, one);
  sim::require_memory(launch, command.options.max_memory);
  for (OfRank& rank : ranks) rank.arrays = load_arrays(rank.ports);

  const auto start = std::chrono::steady_clock::now();
  sim::RunReport report = simulate(launch, ranks, command);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

  write_outputs(ranks);
  warnings.insert(warnings.end(), report.warnings.begin(), report.warnings.end());
  return told({command, launch.name(), arch(launch.target()).name, ranks, std::move(report), elapsed.count(),
               sim::memory_need(one)},
              std::move(warnings));
}

}  // namespace

Command add_run(CLI::App& root) {
  auto command = std::make_shared<RunCommand>();
  command->options.fill_unwritten = true;  // as a run from Python
  CLI::App* app =
      root.add_subcommand("run", "check a program and run it on arrays, or run a Python script with kernels");
  app->add_option("FILE", command->files,
                  "the program, two for a pair of cores (lnc 2), - is standard input; a tensor program (.kt), which is "
                  "compiled; or "
                  "a Python script (.py) with its arguments, those that begin with - after `--`");
  add_target(*app, command->target);
  app->add_option("--threads", command->options.threads, "0: one per processor; the result is the same for any number")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  app->add_option("--ranks", command->ranks,
                  "so many ranks, which meet in collectives; `{}` in the name of a file of --in is the rank, and so is "
                  "y.3.npy of --out y=y.npy; in Python kernel calls return a list")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app->add_option("--lnc", command->lnc,
                  "cores of each rank: kernels of a script that name no grid run on so many, a tensor program is "
                  "compiled for them; a program in text form has a FILE for each")
      ->check(CLI::IsMember({1, 2}))
      ->type_name("1|2");
  app->add_option("--in", command->bindings.in, "values of an input or inout tensor, an .npy file")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->group(kTextGroup);
  app->add_option("--out", command->bindings.out, "where an output or inout tensor goes, an .npy file")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->group(kTextGroup);
  app->add_flag("--print", command->bindings.print, "show the first values of each output; --out may be left out")
      ->group(kTextGroup);
  app->add_flag("--plain", command->options.plain, "the plain arithmetic instead of its fast twin: same values, slowly")
      ->group(kTextGroup);
  app->add_option_function<std::string>(
         "--nan",
         [command](const std::string& text) {
           if (!sim::parse_nan_mode(text, command->options.nan))
             throw CLI::ValidationError("--nan",
                                        fmt::format("`{}` is none of {}", text, fmt::join(sim::kNanModes, ", ")));
         },
         "the first NaN or infinity that an instruction makes of numbers: a warning, unless this says otherwise")
      ->type_name(fmt::format("{}", fmt::join(sim::kNanModes, "|")));
  add_source_roots(*app, command->source_roots);
  app->add_option("--max-passes", command->options.max_passes,
                  "how often the loops of a core may go round, all together, before the run is stopped")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 62))
      ->type_name("N");
  add_max_memory(*app, command->options.max_memory);
  add_json(*app, command->json);
  for (const char* option : {"--source-root", kJsonOption}) app->get_option(option)->group(kTextGroup);
  add_arguments(*app, command->arguments);
  app->add_option("-m", command->module, "run a module as python -m does, instead of a FILE")
      ->type_name("MODULE")
      ->group(kPythonGroup);
  app->footer(examples({"kiln run scale.kiln --in x=x.npy --out y=y.npy", "kiln run scale.kiln --in x=x.npy --print",
                        "kiln run core0.kiln core1.kiln --in x=x.npy --out y=y.npy",
                        "kiln run sum.kiln --ranks 2 --in x=x.{}.npy --out y=y.npy", "kiln run script.py --target trn2",
                        "kiln run kernel.py --ranks 8 --lnc 2", "kiln run model.py:layer --arg 'x=float32[128,1024]'",
                        "kiln run script.py input.txt -- --an-option-of-the-script"}));
  return {app, [command] { return run(*command); }, [command] { return command->is_for_python(); }};
}

}  // namespace kiln::cli
