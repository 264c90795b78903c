#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/program_file.h"
#include "cli/python_options.h"
#include "cli/rules.h"
#include "cli/side_by_side.h"
#include "kiln/analysis/engine_counts.h"
#include "kiln/check/same_work.h"
#include "kiln/check/summary.h"

namespace kiln::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  Targets targets;
  KernelOptions kernel;
  std::vector<std::string> source_roots;
  bool strict_order = false;
  bool json = false;
};

struct Verdict {
  std::string file;
  std::vector<Diagnostic> diagnostics;
  std::size_t left_out = 0;
  std::optional<CheckedProgram> checked;  // empty when the file is no program

  std::size_t errors() const { return std::count_if(diagnostics.begin(), diagnostics.end(), is_error); }
  bool ok() const { return errors() == 0; }
};

Verdict judge(const std::string& file, std::optional<Target> target, const CheckOptions& options) {
  Verdict verdict{.file = file};
  try {
    verdict.checked =
        check_file(file, target, options.source_roots, {.strict_order = options.strict_order, .unwritten = true});
    verdict.diagnostics = verdict.checked->report.diagnostics;
    verdict.left_out = verdict.checked->report.left_out;
  } catch (const Error& e) {
    verdict.diagnostics = e.diagnostics();
  }
  return verdict;
}

check::Verdict summary_of(const Verdict& v) {
  check::Verdict verdict{
      .title = v.file, .errors = v.errors(), .warnings = v.diagnostics.size() - v.errors(), .left_out = v.left_out};
  if (v.checked) {
    verdict.title += ": " + v.checked->program.name;
    verdict.cores = {{&v.checked->program, &v.checked->report.allocation}};
  }
  return verdict;
}

std::string text_of(std::span<const Verdict> verdicts) {
  if (verdicts.size() == 1) return check::summary(summary_of(verdicts[0]));
  std::vector<check::Verdict> each;
  for (const Verdict& v : verdicts) each.push_back(summary_of(v));
  return side_by_side(each);
}

// On the chip that is asked for, or on every one.
std::vector<Verdict> judge_on(const std::string& file, const CheckOptions& options) {
  if (!options.targets.all) return {judge(file, options.targets.one, options)};
  std::vector<Verdict> verdicts;
  for (const Arch* chip : all_archs()) verdicts.push_back(judge(file, chip->target, options));
  return verdicts;
}

nlohmann::ordered_json memory_json(const analysis::MemoryUse& use) {
  return {{"peak_bytes", use.peak_bytes},
          {"written_bytes", use.written_bytes},
          {"available_bytes", use.available_bytes},
          {"in_place", use.in_place}};
}

nlohmann::ordered_json verdict_json(const Verdict& v) {
  nlohmann::ordered_json json{{"file", v.file}, {"ok", v.ok()}};
  if (v.checked) {
    json["name"] = v.checked->program.name;
    json["target"] = arch(v.checked->program.target).name;
  }
  if (v.ok()) {
    const analysis::Allocation& allocation = v.checked->report.allocation;
    json["memory"] = {{"sbuf", memory_json(allocation.sbuf)}, {"psum", memory_json(allocation.psum)}};
    analysis::for_each_engine(
        analysis::count_by_engine(v.checked->program, arch(v.checked->program.target)),
        [&](const std::string& engine, std::int64_t count) { json["instructions"][engine] = count; });
  }
  json["left_out"] = v.left_out;
  json["diagnostics"] = json_of(v.diagnostics);
  return json;
}

// Whether two files are the programs of the two cores of a pair.
bool are_pair(const Verdict& first, const Verdict& second) {
  if (!first.checked || !second.checked) return false;
  const isa::Program &a = first.checked->program, &b = second.checked->program;
  return a.lnc == 2 && b.lnc == 2 && a.name == b.name && a.target == b.target;
}

// By file, then by chip.
std::vector<std::vector<Verdict>> judge_all(const CheckOptions& options) {
  std::vector<std::vector<Verdict>> all;
  for (const std::string& file : options.files) all.push_back(judge_on(file, options));
  if (all.size() != 2) return all;
  for (std::size_t chip = 0; chip < all[0].size(); ++chip) {
    Verdict &first = all[0][chip], &second = all[1][chip];
    if (!are_pair(first, second)) continue;
    const isa::Launch launch({&first.checked->program, &second.checked->program});
    check::check_shared_work(launch, second.diagnostics);
  }
  return all;
}

void require_readable_for_each(const CheckOptions& options) {
  require_one_stdin(options.files);
  if (options.targets.all && std::find(options.files.begin(), options.files.end(), "-") != options.files.end())
    throw Error(broken(cli_rules::kStandardInput, "--target all reads the program once for each chip"));
}

Outcome check(const CheckOptions& options) {
  require_readable_for_each(options);
  Outcome outcome;
  nlohmann::ordered_json programs = nlohmann::ordered_json::array();
  for (const std::vector<Verdict>& verdicts : judge_all(options)) {
    std::vector<std::vector<Diagnostic>> found;
    for (const Verdict& verdict : verdicts) {
      if (options.json) programs.push_back(verdict_json(verdict));
      found.push_back(verdict.diagnostics);
    }
    const std::vector<Diagnostic> shown = options.targets.all ? each_once(found) : found[0];
    outcome.diagnostics.insert(outcome.diagnostics.end(), shown.begin(), shown.end());
    if (!options.json) outcome.out += text_of(verdicts);
  }
  const bool ok = exit_code(outcome.diagnostics) == kExitOk;
  if (options.json) outcome.out = dump({{"ok", ok}, {"programs", std::move(programs)}});
  return outcome;
}

}  // namespace

Command add_check(CLI::App& root) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* app = root.add_subcommand("check", "tell whether programs are legal");
  app->add_option("FILE", options->files,
                  "programs as text, - is standard input; or files with kernels in Python (.py), whose top-level code "
                  "runs when they are checked")
      ->required();
  add_targets(*app, options->targets);
  add_source_roots(*app, options->source_roots);
  app->add_flag("--strict-order", options->strict_order,
                "refuse what fits into SBUF and PSUM only when instructions are reordered");
  add_json(*app, options->json);
  add_kernel_options(*app, options->kernel);
  app->footer(
      examples({"kiln check softmax.py --arg x=float32[128,512]", "kiln check softmax.py --record calls.json",
                "kiln check *.kiln --target trn3", "kiln check softmax.py --arg x=float32[128,512] --target all",
                "kiln check - --json < softmax.kiln"}));
  return {app, [options] { return check(*options); }, [options] { return any_python(options->files); }};
}

}  // namespace kiln::cli
