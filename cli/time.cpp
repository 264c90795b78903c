#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/model.h"
#include "cli/options.h"
#include "cli/program_file.h"
#include "cli/progress.h"
#include "cli/python_options.h"
#include "cli/rules.h"
#include "kiln/arch/topologies.h"
#include "kiln/base/file.h"
#include "kiln/base/suggest.h"
#include "kiln/base/terminal.h"
#include "kiln/check/capacity.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/report.h"
#include "kiln/tensor/passes/bodies.h"
#include "kiln/tensor/passes/cut.h"
#include "kiln/views/compare.h"
#include "kiln/views/html.h"
#include "kiln/views/json.h"
#include "kiln/views/perfetto.h"
#include "kiln/views/text.h"
#include "kiln/views/timed_kernel.h"
#include "kiln/views/what_if_compiler.h"
#include "kiln/views/what_if_engine.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxPageSlices = 500'000;  // more make pages that browsers open slowly

struct TimeCommand {
  std::vector<std::string> files;
  std::string compare, compare_kernel;  // another program; empty: none
  Targets targets;
  KernelOptions kernel;
  std::vector<std::string> what_if, trip_counts, source_roots, without;
  int ranks = 1;
  std::string topology;     // empty: the chip's first
  std::string trace, html;  // files to write; empty: none
  std::size_t lines = 10;
  std::int64_t limit = timing::kTimingLimit, max_memory = 0;
  bool reorder = false, in_order = false, no_advice = false, json = false;
  bool as_written = false, disable_dge = false, spill = false;
};

// What was timed, and what it is called.
struct Timed {
  std::string title;
  std::unique_ptr<views::TimedKernel> kernel;

  Target target() const { return kernel->programs.front().target; }
};

// NAME=VALUE split at the sign.
std::pair<std::string, std::string> split(const std::string& text, const Rule& rule) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || sign == std::string::npos || sign + 1 == text.size())
    throw Error(broken(rule, fmt::format("`{}` is not of the form NAME=VALUE", text)));
  return {text.substr(0, sign), text.substr(sign + 1)};
}

void require_constant(const std::string& name) {
  Suggest suggest(name);
  suggest.consider(views::kEngineWhatIf);
  suggest.consider(views::kMergedWhatIf);
  for (const timing::Constant& constant : timing::constants()) {
    if (constant.name == name) return;
    suggest.consider(constant.name);
  }
  throw Error(broken(cli_rules::kWhatIf, fmt::format("the model has no constant `{}`", name),
                     did_you_mean(suggest.best(), "kiln time --what-if list shows all names")));
}

views::TimeRequest request_of(const TimeCommand& command) {
  views::TimeRequest request;
  if (command.reorder || command.in_order) request.reorder = command.reorder;
  request.ranks = command.ranks;
  request.topology = command.topology;
  request.advice = !command.no_advice;
  request.without = command.without;
  request.as_written = command.as_written;
  request.disable_dge = command.disable_dge;
  request.spill = command.spill;
  request.limit = command.limit;
  request.max_memory = command.max_memory;
  for (const std::string& text : command.what_if) {
    const std::string name = split(text, cli_rules::kWhatIf).first;
    if (views::is_compiler_what_if(text)) {
      views::compiler_of({text});
    } else if (name != views::kEngineWhatIf) {
      require_constant(name);
      timing::parse_what_if(text);
    }
    request.what_if.push_back(text);
  }
  for (const std::string& text : command.trip_counts) {
    const auto [name, value] = split(text, cli_rules::kTripCount);
    std::int64_t count = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
    if (error != std::errc{} || end != value.data() + value.size() || count < 0)
      throw Error(broken(cli_rules::kTripCount, fmt::format("`{}` is no number of iterations", value)));
    request.trip_counts[name] = count;
  }
  return request;
}

// Every trip count belongs to a loop.
void require_loops(const views::TimeRequest& request, const std::vector<isa::Program>& programs) {
  for (const auto& [name, count] : request.trip_counts) {
    Suggest suggest(name);
    bool found = false;
    for (const isa::Program& program : programs) {
      found |= timing::takes_trip_count(program, name);
      for (const isa::Loop& loop : program.loops) {
        if (loop.kind != isa::Loop::Kind::static_for) suggest.consider(program.registers[loop.reg].name);
      }
    }
    if (!found) {
      throw Error(broken(cli_rules::kTripCount, fmt::format("no loop runs on a register `{}`", name),
                         did_you_mean(suggest.best(), "use the name of the register that counts or is tested")));
    }
  }
}

// Programs that were read or traced, all legal.
struct Loaded {
  std::string title;
  std::vector<isa::Program> programs;
  std::string note;
  std::string groups;  // of a tensor program: what the compiler made of it
};

// What there is to time: FILE or what --compare names.
struct Source {
  std::vector<std::string> files;
  const TimeCommand& command;
  bool is_compared = false;
};

// Throws Error with the diagnostics of programs that are not legal.
Loaded load(const Source& source, const Host& host, std::optional<Target> target, std::vector<Diagnostic>& warnings) {
  const Progress progress("reading and checking");
  Loaded loaded{.title = source.files[0], .programs = {}, .note = {}, .groups = {}};
  const auto take = [&](CheckedProgram checked) {
    std::vector<Diagnostic>& found = checked.report.diagnostics;
    if (source.command.spill) std::erase_if(found, check::spilling_helps);
    warnings.insert(warnings.end(), found.begin(), found.end());
    loaded.programs.push_back(std::move(checked.program));
  };
  if (is_python(source.files[0])) {
    const std::string chip(target ? arch(*target).name : "");
    TracedKernel traced = host.trace(source.files[0], source.is_compared, chip);
    for (isa::Program& program : traced.programs) take(check_given(std::move(program), {}, traced.reserved_psum_banks));
    loaded.title = std::move(traced.title);
    loaded.note = std::move(traced.note);
  } else if (source.files[0].ends_with(".kt")) {
    tensor::Compiled compiled =
        tensor::compile(tensor::parse(read_file(source.files[0]), source.files[0]),
                        {.target = target.value_or(Target::trn2), .lnc = source.command.kernel.lnc == "2" ? 2 : 1});
    loaded.groups = tensor::report_text(compiled);
    take(check_given(std::move(compiled.program), {}, 0));
    if (compiled.peer) take(check_given(std::move(*compiled.peer), {}, 0));
  } else {
    for (const std::string& file : source.files) take(check_file(file, target, source.command.source_roots));
  }
  if (exit_code(warnings) != kExitOk) throw Error(warnings);
  return loaded;
}

Timed time_programs(const TimeCommand& command, std::string title, std::vector<isa::Program> programs) {
  require_pair(isa::Launch::of(programs));
  Progress progress("timing");
  views::TimeRequest request = request_of(command);
  request.begin = [&](const char* work) { progress.next(work); };
  request.done = &progress.done();
  return {std::move(title), views::time_kernel(std::move(programs), request)};
}

void write_pictures(const TimeCommand& command, const Timed& timed, const std::vector<views::Section>& sections) {
  if (!command.trace.empty()) write_atomically(command.trace, views::to_perfetto(timed.kernel->picture()));
  if (!command.html.empty()) {
    const views::Picture picture = timed.kernel->picture({.max_slices = kMaxPageSlices});
    const views::TimeReport& report = timed.kernel->report;
    write_atomically(command.html, views::to_html(report, picture, views::read_sources(report), sections));
  }
}

using AllTimed = std::vector<Timed>;

std::string show(const TimeCommand& command, const AllTimed& all, const std::vector<std::string>& notes,
                 const std::vector<Diagnostic>& warnings) {
  std::vector<views::Column> columns;
  for (const Timed& timed : all) columns.push_back({timed.title, &timed.kernel->report});
  if (!command.json) {
    std::string text =
        columns.size() == 1
            ? views::to_text(*columns[0].report, {.lines = command.lines, .width = terminal_width(STDOUT_FILENO)})
            : views::compare_text(columns);
    for (const std::string& note : notes) text += note + '\n';
    return text;
  }
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const views::Column& column : columns) reports.push_back(views::to_json(*column.report));
  nlohmann::ordered_json json{{"ok", true}, {"reports", std::move(reports)}};
  if (columns.size() > 1) json["comparison"] = views::compare_json(columns);
  json["notes"] = notes;
  json["diagnostics"] = json_of(warnings);
  return dump(json);
}

// What kept a program from being timed on a chip.
std::string not_legal_on(const Arch& chip, const Diagnostic& why) {
  const std::string place = why.loc.known() ? fmt::format(" at {}:{}", why.loc.file, why.loc.line) : "";
  return fmt::format("not legal on {}: {}{}; kiln check --target {} tells more", chip.name, why.code, place, chip.name);
}

// Every generation on which the program is legal; a note for each on which it is not. A program in text form must be
// legal on the chip that it names, a kernel on any.
AllTimed time_on_all_targets(const TimeCommand& command, const Host& host, std::vector<std::string>& notes) {
  AllTimed all;
  std::vector<Diagnostic> unused, last;
  const views::TimeRequest request = request_of(command);
  if (!is_python(command.files[0])) require_loops(request, load({command.files, command}, host, {}, unused).programs);
  for (const Arch* chip : all_archs()) {
    try {
      std::vector<Diagnostic> warnings;
      Loaded loaded = load({command.files, command}, host, chip->target, warnings);
      require_loops(request, loaded.programs);
      all.push_back(time_programs(command, std::string(chip->name), std::move(loaded.programs)));
    } catch (const Error& e) {
      if (exit_code(e.diagnostics()) != kExitBroken) throw;
      notes.push_back(not_legal_on(*chip, e.first()));
      last = e.diagnostics();
    }
  }
  if (all.empty()) throw Error(last);
  return all;
}

void require_fitting_options(const TimeCommand& command) {
  const bool draws = !command.trace.empty() || !command.html.empty();
  const bool all = command.targets.all;
  if (any_python(command.files) && command.files.size() > 1) {
    throw Error(broken(cli_rules::kPair, fmt::format("`{}` and `{}` are given", command.files[0], command.files[1]),
                       "a kernel in Python brings both cores itself, see --lnc; --compare sets another one beside it"));
  }
  if (all && (draws || !command.compare.empty()))
    throw Error(broken(cli_rules::kOneRun, "--target all goes with none of --trace, --html and --compare"));
  if (draws && command.trace == command.html)
    throw Error(broken(cli_rules::kOutputShared, fmt::format("`{}` is to hold the trace and the page", command.html)));
  std::vector<std::string> inputs = command.files, outputs;
  if (!command.compare.empty()) inputs.push_back(command.compare);
  if (all && std::find(inputs.begin(), inputs.end(), "-") != inputs.end())
    throw Error(broken(cli_rules::kStandardInput, "--target all reads the program once for each chip"));
  require_one_stdin(inputs);
  for (const std::string& path : {command.trace, command.html}) {
    if (!path.empty()) outputs.push_back(path);
  }
  if (!command.kernel.record.empty()) inputs.push_back(command.kernel.record);
  std::ranges::transform(inputs, inputs.begin(), file_of);
  require_apart(inputs, outputs);
  require_writable(outputs);
}

std::string list_what_if() {
  std::string text;
  for (const timing::Constant& c : timing::constants()) {
    text += fmt::format("{:<20} {} ({})\n", c.name, c.text, c.unit.empty() ? "a number" : c.unit);
  }
  text += fmt::format("{:<20} {}\n", views::kMergedWhatIf, "longest loop that the vendor's compiler merges (passes)");
  return text +
         fmt::format("{:<20} {}\n", views::kEngineWhatIf, "INSTRUCTION:ENGINE, these instructions on that engine");
}

std::string list_topologies() {
  std::string text;
  for (const Topology& t : all_topologies()) {
    const LinkSpec& links = arch(t.target).links;
    text += fmt::format("{:<20} {}: {} devices of {} cores in a server", t.name, arch(t.target).name,
                        links.devices_per_node, links.cores_per_device);
    if (t.joined_nodes > 1) text += fmt::format(", {} servers joined", t.joined_nodes);
    text += t.joined_nodes == 0 ? ", switched\n" : fmt::format(", torus of {} x {}\n", t.rows, t.columns);
  }
  return text;
}

// Of a tensor program that is several kernels: the calls one after the other. Nothing for anything else.
std::optional<Outcome> time_several(const TimeCommand& command) {
  if (command.files.size() != 1 || !command.files[0].ends_with(".kt")) return {};
  const tensor::Graph graph = read_graph(command.files[0]);
  if (tensor::counted_ops(tensor::inlined(graph)) <= tensor::kMostOps) return {};
  if (!command.trace.empty() || !command.html.empty() || !command.compare.empty() || command.targets.all ||
      !command.what_if.empty())
    throw Error(broken(cli_rules::kKindOfFile, fmt::format("`{}` is several kernels", command.files[0]),
                       "time them one by one: kiln compile -o model.kiln writes them"));
  const tensor::CompileOptions options{.target = command.targets.one.value_or(Target::trn2),
                                       .lnc = command.kernel.lnc == "2" ? 2 : 1};
  return Outcome{.out = model_times(tensor::compile_model(graph, options), command.json)};
}

Outcome time(const TimeCommand& command, const Host& host) {
  if (command.what_if == std::vector<std::string>{"list"}) return {.out = list_what_if()};
  if (command.topology == "list") return {.out = list_topologies()};
  if (command.files.empty()) throw Error(broken(cli_rules::kUsage, "FILE is required", "see kiln time --help"));
  require_fitting_options(command);
  const views::TimeRequest request = request_of(command);  // wrong options before wrong programs
  if (std::optional<Outcome> several = time_several(command)) return std::move(*several);
  Outcome outcome;
  AllTimed all;
  std::vector<std::string> notes;
  std::vector<views::Section> sections;
  const auto add = [&](const Source& source, std::optional<Target> target) {
    Loaded loaded = load(source, host, target, outcome.diagnostics);
    if (!source.is_compared) require_loops(request, loaded.programs);
    if (!loaded.note.empty()) notes.push_back(std::move(loaded.note));
    if (!loaded.groups.empty()) {
      notes.push_back("Groups of the tensor program\n" + loaded.groups);
      if (!source.is_compared) sections.push_back({"Groups of the tensor program", loaded.groups});
    }
    all.push_back(time_programs(command, std::move(loaded.title), std::move(loaded.programs)));
  };
  if (command.targets.all) {
    all = time_on_all_targets(command, host, notes);
  } else {
    add({command.files, command}, command.targets.one);
  }
  if (!command.compare.empty()) {
    std::optional<Target> target = command.targets.one;
    if (!target && is_python(command.compare)) target = all[0].target();  // kernels are traced for any chip
    add({{command.compare}, command, true}, target);
    if (all[0].target() != all[1].target()) notes.push_back("these are two chips: --target sets one for both");
  }
  write_pictures(command, all.front(), sections);
  outcome.out = show(command, all, notes, outcome.diagnostics);
  return outcome;
}

}  // namespace

Command add_time(CLI::App& root, const Host& host) {
  auto command = std::make_shared<TimeCommand>();
  CLI::App* app = root.add_subcommand("time", "tell how long a program takes on the chip, and why");
  app->alias("profile");
  app->add_option("FILE", command->files,
                  "the program, two for a pair of cores (lnc 2), - is standard input; a tensor program (.kt), which is "
                  "compiled; or a file with a kernel in Python (.py), whose top-level code runs")
      ->expected(0, 2);
  add_targets(*app, command->targets);
  app->add_option("--compare", command->compare, "another program or kernel, side by side with the first")
      ->type_name("FILE");
  app->add_option("--what-if", command->what_if,
                  "a constant of the model changed, as in dma_bandwidth=2x; list: all names")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app->add_option("--ranks", command->ranks, "so many ranks that run the program and meet in collectives")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app->add_option("--topology", command->topology, "what joins the ranks, as in trn2-ultraserver; list: all names")
      ->type_name("NAME");
  app->add_option("--trip-count", command->trip_counts, "how often a loop on a register runs")
      ->type_name("REGISTER=N")
      ->allow_extra_args(false);
  CLI::Option* reorder =
      app->add_flag("--reorder", command->reorder,
                    "reorder each engine's instructions as the vendor's compiler may, however many they are");
  app->add_flag("--in-order", command->in_order, "take the instructions in the order of the program")
      ->excludes(reorder);
  app->add_option("--without", command->without, "a pass of the vendor's compiler to leave out: hoist, rename, ...")
      ->type_name("PASS")
      ->allow_extra_args(false);
  app->add_flag("--as-written", command->as_written, "leave out all of them");
  app->add_flag("--disable-dge", command->disable_dge, "static descriptors, as with the vendor's option");
  app->add_flag("--spill", command->spill, "let tiles that do not fit wait in HBM instead of refusing them");
  app->add_option("--trace", command->trace, "write a Perfetto trace, for ui.perfetto.dev")->type_name("FILE");
  app->add_option("--html", command->html, "write a page with the timeline, for any browser")->type_name("FILE");
  app->add_option("--limit", command->limit,
                  "how many instructions of loops may be simulated one by one, where passes are not alike")
      ->check(CLI::Range(std::int64_t{1}, timing::kMostTimingLimit))
      ->type_name("N");
  add_max_memory(*app, command->max_memory);
  app->add_option("--lines", command->lines, "rows of the tables by line")->type_name("N");
  app->add_flag("--no-advice", command->no_advice, "leave the advice out, which runs the model several times");
  add_source_roots(*app, command->source_roots);
  add_json(*app, command->json);
  add_kernel_options(*app, command->kernel);
  app->add_option("--compare-kernel", command->compare_kernel,
                  "the kernel of --compare, when it is not that of --kernel")
      ->type_name("NAME")
      ->group(kPythonGroup);
  app->footer(
      examples({"kiln time softmax.kiln", "kiln time softmax.py --arg x=float32[128,512]",
                "kiln time old.py --compare new.py --arg x=float32[128,512]",
                "kiln time softmax.kiln --html softmax.html", "kiln time softmax.kiln --what-if dma_bandwidth=2x",
                "kiln time old.kiln --compare new.kiln", "kiln time softmax.kiln --target all"}));
  return {app, [command, &host] { return time(*command, host); },
          [command] { return any_python(command->files) || is_python(command->compare); }};
}

}  // namespace kiln::cli
