#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/output_files.h"
#include "cli/program_file.h"
#include "cli/progress.h"
#include "cli/rules.h"
#include "kiln/base/file.h"
#include "kiln/base/suggest.h"
#include "kiln/base/terminal.h"
#include "kiln/views/compare.h"
#include "kiln/views/html.h"
#include "kiln/views/json.h"
#include "kiln/views/perfetto.h"
#include "kiln/views/text.h"
#include "kiln/views/timed_kernel.h"
#include "kiln/views/what_if_engine.h"

namespace kiln::cli {
namespace {

constexpr std::string_view kAllTargets = "all";
constexpr std::size_t kMaxPageSlices = 500'000;  // more make pages that browsers open slowly

struct TimeCommand {
  std::vector<std::string> files;
  std::string compare;  // another program; empty: none
  std::string target;   // a chip, or all; empty: the program's
  std::vector<std::string> what_if, trip_counts, source_roots;
  std::string trace, html;  // files to write; empty: none
  std::size_t lines = 10;
  bool reorder = false, in_order = false, no_advice = false, json = false;
};

// What was timed, and what it is called.
struct Timed {
  std::string title;
  std::unique_ptr<views::TimedKernel> kernel;
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
  request.advice = !command.no_advice;
  for (const std::string& text : command.what_if) {
    const std::string name = split(text, cli_rules::kWhatIf).first;
    if (name != views::kEngineWhatIf) {
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

// The programs of the files, all legal; throws Error with the diagnostics otherwise.
std::vector<isa::Program> load(const std::vector<std::string>& files, const GivenPrograms& given,
                               std::optional<Target> target, const std::vector<std::string>& source_roots,
                               std::vector<Diagnostic>& warnings) {
  const Progress progress("reading and checking");
  std::vector<isa::Program> programs;
  for (const std::string& file : files) {
    const auto found_given = given.programs.find(file);
    CheckedProgram checked = found_given == given.programs.end()
                                 ? check_file(file, target, source_roots)
                                 : check_given(found_given->second, target, given.reserved_psum_banks);
    const std::vector<Diagnostic>& found = checked.report.diagnostics;
    warnings.insert(warnings.end(), found.begin(), found.end());
    programs.push_back(std::move(checked.program));
  }
  if (exit_code(warnings) != kExitOk) throw Error(warnings);
  return programs;
}

Timed time_programs(const TimeCommand& command, std::string title, std::vector<isa::Program> programs) {
  require_pair(isa::Launch::of(programs));
  Progress progress("timing");
  views::TimeRequest request = request_of(command);
  request.begin = [&](const char* work) { progress.next(work); };
  request.done = &progress.done();
  return {std::move(title), views::time_kernel(std::move(programs), request)};
}

void write_pictures(const TimeCommand& command, const Timed& timed) {
  if (!command.trace.empty()) write_atomically(command.trace, views::to_perfetto(timed.kernel->picture()));
  if (!command.html.empty()) {
    const views::Picture picture = timed.kernel->picture({.max_slices = kMaxPageSlices});
    const views::TimeReport& report = timed.kernel->report;
    write_atomically(command.html, views::to_html(report, picture, views::read_sources(report)));
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

// Every generation on which the program is legal; a note for each on which it is not.
AllTimed time_on_all_targets(const TimeCommand& command, const GivenPrograms& given, std::vector<std::string>& notes) {
  AllTimed all;
  std::vector<Diagnostic> unused;
  require_loops(request_of(command),
                load(command.files, given, {}, command.source_roots, unused));  // the program's own target must do
  for (const Arch* chip : all_archs()) {
    try {
      std::vector<Diagnostic> warnings;
      all.push_back(time_programs(command, std::string(chip->name),
                                  load(command.files, given, chip->target, command.source_roots, warnings)));
    } catch (const Error& e) {
      if (exit_code(e.diagnostics()) != kExitBroken) throw;
      notes.push_back(fmt::format("not legal on {}: kiln check --target {} tells why", chip->name, chip->name));
    }
  }
  return all;
}

void require_fitting_options(const TimeCommand& command) {
  const bool draws = !command.trace.empty() || !command.html.empty();
  const bool all = command.target == kAllTargets;
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
  require_writable(outputs);
}

std::string list_what_if() {
  std::string text;
  for (const timing::Constant& c : timing::constants()) {
    text += fmt::format("{:<20} {} ({})\n", c.name, c.text, c.unit.empty() ? "a number" : c.unit);
  }
  return text +
         fmt::format("{:<20} {}\n", views::kEngineWhatIf, "INSTRUCTION:ENGINE, these instructions on that engine");
}

Outcome time(const TimeCommand& command, const GivenPrograms& given) {
  if (command.what_if == std::vector<std::string>{"list"}) return {.out = list_what_if()};
  if (command.files.empty()) throw Error(broken(cli_rules::kUsage, "FILE is required", "see kiln time --help"));
  require_fitting_options(command);
  const views::TimeRequest request = request_of(command);  // wrong options before wrong programs
  Outcome outcome;
  AllTimed all;
  std::vector<std::string> notes;
  std::optional<Target> target;
  Target parsed;
  if (parse_target(command.target, parsed)) target = parsed;
  if (command.target == kAllTargets) {
    all = time_on_all_targets(command, given, notes);
  } else {
    std::vector<isa::Program> programs = load(command.files, given, target, command.source_roots, outcome.diagnostics);
    require_loops(request, programs);
    all.push_back(time_programs(command, command.files[0], std::move(programs)));
  }
  if (!command.compare.empty())
    all.push_back(time_programs(command, command.compare,
                                load({command.compare}, {}, target, command.source_roots, outcome.diagnostics)));
  write_pictures(command, all.front());
  outcome.out = show(command, all, notes, outcome.diagnostics);
  return outcome;
}

void add_time_target(CLI::App& app, std::string& target) {
  std::vector<std::string> names;
  for (const Arch* chip : all_archs()) {
    names.emplace_back(chip->name);
    names.emplace_back(chip->generation_name);
  }
  names.emplace_back(kAllTargets);
  app.add_option("--target", target, "the chip, instead of the one that the program names; all: side by side")
      ->check(CLI::IsMember(names))
      ->type_name(fmt::format("{}|{}", target_names("|"), kAllTargets));
}

}  // namespace

Command add_time(CLI::App& root, const GivenPrograms& given) {
  auto command = std::make_shared<TimeCommand>();
  CLI::App* app = root.add_subcommand("time", "tell how long a program takes on the chip, and why");
  app->alias("profile");
  app->add_option("FILE", command->files, "the program; two for a pair of cores (lnc 2); - is standard input")
      ->expected(0, 2);
  add_time_target(*app, command->target);
  app->add_option("--compare", command->compare, "another program, side by side with the first")->type_name("FILE");
  app->add_option("--what-if", command->what_if,
                  "a constant of the model changed, as in dma_bandwidth=2x; list: all names")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app->add_option("--trip-count", command->trip_counts, "how often a loop on a register runs")
      ->type_name("REGISTER=N")
      ->allow_extra_args(false);
  CLI::Option* reorder =
      app->add_flag("--reorder", command->reorder,
                    "reorder each engine's instructions as the vendor's compiler may, however many they are");
  app->add_flag("--in-order", command->in_order, "take the instructions in the order of the program")
      ->excludes(reorder);
  app->add_option("--trace", command->trace, "write a Perfetto trace, for ui.perfetto.dev")->type_name("FILE");
  app->add_option("--html", command->html, "write a page with the timeline, for any browser")->type_name("FILE");
  app->add_option("--lines", command->lines, "rows of the tables by line")->type_name("N");
  app->add_flag("--no-advice", command->no_advice, "leave the advice out, which runs the model several times");
  add_source_roots(*app, command->source_roots);
  add_json(*app, command->json);
  app->footer(examples({"kiln time softmax.kiln", "kiln time softmax.kiln --html softmax.html",
                        "kiln time softmax.kiln --what-if dma_bandwidth=2x", "kiln time old.kiln --compare new.kiln",
                        "kiln time softmax.kiln --target all"}));
  return {app, [command, &given] { return time(*command, given); }};
}

}  // namespace kiln::cli
