#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/program_file.h"
#include "kiln/analysis/engine_counts.h"

namespace kiln::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::optional<Target> target;
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

Verdict judge(const std::string& file, std::optional<Target> target) {
  Verdict verdict{.file = file};
  try {
    verdict.checked = check_file(file, target);
    verdict.diagnostics = verdict.checked->report.diagnostics;
    verdict.left_out = verdict.checked->report.left_out;
  } catch (const Error& e) {
    verdict.diagnostics = e.diagnostics();
  }
  return verdict;
}

std::string plural(std::size_t n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

std::string memory_line(const char* memory, const analysis::MemoryUse& use) {
  return fmt::format("  {}: at most {} of {} bytes per partition\n", memory, use.peak_bytes, use.available_bytes);
}

std::string text_of(const Verdict& v) {
  std::string text = v.file;
  if (v.checked) {
    const isa::Program& p = v.checked->program;
    text += fmt::format(": {} for {}", p.name, arch(p.target).name);
  }
  const std::size_t warnings = v.diagnostics.size() - v.errors();
  text += v.ok() ? ": ok" : ": " + plural(v.errors(), "error");
  if (warnings) text += ", " + plural(warnings, "warning");
  if (v.left_out) text += fmt::format(", {} more not shown", v.left_out);
  text += '\n';
  if (!v.ok()) return text;
  text += memory_line("SBUF", v.checked->report.allocation.sbuf);
  text += memory_line("PSUM", v.checked->report.allocation.psum);
  text += "  " + plural(v.checked->program.instructions.size(), "instruction");
  const char* separator = ": ";
  analysis::for_each_engine(analysis::count_by_engine(v.checked->program, arch(v.checked->program.target)),
                            [&](const std::string& engine, std::int64_t count) {
                              text += fmt::format("{}{} {}", separator, engine, count);
                              separator = ", ";
                            });
  return text + '\n';
}

nlohmann::ordered_json json_of(const analysis::MemoryUse& use) {
  return {{"peak_bytes", use.peak_bytes}, {"available_bytes", use.available_bytes}};
}

nlohmann::ordered_json json_of(const Verdict& v) {
  nlohmann::ordered_json json{{"file", v.file}, {"ok", v.ok()}};
  if (v.checked) {
    json["name"] = v.checked->program.name;
    json["target"] = arch(v.checked->program.target).name;
  }
  if (v.ok()) {
    const analysis::Allocation& allocation = v.checked->report.allocation;
    json["memory"] = {{"sbuf", json_of(allocation.sbuf)}, {"psum", json_of(allocation.psum)}};
    analysis::for_each_engine(
        analysis::count_by_engine(v.checked->program, arch(v.checked->program.target)),
        [&](const std::string& engine, std::int64_t count) { json["instructions"][engine] = count; });
  }
  json["left_out"] = v.left_out;
  json["diagnostics"] = cli::json_of(v.diagnostics);
  return json;
}

Outcome check(const CheckOptions& options) {
  require_one_stdin(options.files);
  Outcome outcome;
  nlohmann::ordered_json programs = nlohmann::ordered_json::array();
  for (const std::string& file : options.files) {
    const Verdict verdict = judge(file, options.target);
    if (options.json) {
      programs.push_back(json_of(verdict));
    } else {
      outcome.out += text_of(verdict);
    }
    outcome.diagnostics.insert(outcome.diagnostics.end(), verdict.diagnostics.begin(), verdict.diagnostics.end());
  }
  const bool ok = exit_code(outcome.diagnostics) == kExitOk;
  if (options.json) outcome.out = dump({{"ok", ok}, {"programs", std::move(programs)}});
  return outcome;
}

}  // namespace

Command add_check(CLI::App& root) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* app = root.add_subcommand("check", "tell whether programs are legal");
  app->add_option("FILE", options->files, "programs as text, or one kernel in Python (.py); - is standard input")
      ->required();
  add_target(*app, options->target);
  add_json(*app, options->json);
  app->footer(
      examples({"kiln check softmax.kiln", "kiln check *.kiln --target trn3", "kiln check - --json < softmax.kiln"}));
  return {app, [options] { return check(*options); }};
}

}  // namespace kiln::cli
