#include "cli/emit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/program_file.h"
#include "cli/python_options.h"
#include "kiln/base/file.h"
#include "kiln/emit/emit.h"

namespace kiln::cli {
namespace {

struct EmitCommand {
  std::vector<std::string> files;
  std::string out;
  std::optional<Target> target;
  KernelOptions kernel;
  std::vector<std::string> source_roots;
  bool roll = true, main = false;
};

std::vector<isa::Program> load(const EmitCommand& command, std::vector<Diagnostic>& found) {
  std::vector<isa::Program> programs;
  for (const std::string& file : command.files) {
    CheckedProgram checked = check_file(file, command.target, command.source_roots);
    found.insert(found.end(), checked.report.diagnostics.begin(), checked.report.diagnostics.end());
    programs.push_back(std::move(checked.program));
  }
  if (exit_code(found) != kExitOk) throw Error(found);
  return programs;
}

// The names of the files without their folders: the text does not depend on where it was made.
std::string origin(const EmitCommand& command) {
  std::vector<std::string> names;
  for (const std::string& file : command.files) {
    if (file != "-") names.push_back(std::filesystem::path(file).filename().string());
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

Outcome emit(const EmitCommand& command) {
  require_one_stdin(command.files);
  if (!command.out.empty()) {
    require_apart(command.files, std::span(&command.out, 1));
    require_writable(std::span(&command.out, 1));
  }
  Outcome outcome;
  const std::vector<isa::Program> programs = load(command, outcome.diagnostics);
  const isa::Launch launch = isa::Launch::of(programs);
  require_pair(launch);
  std::string text = kiln::emit::emit(launch, {.roll = command.roll, .main = command.main, .origin = origin(command)});
  if (command.out.empty()) {
    outcome.out = std::move(text);
  } else {
    write_atomically(command.out, text);
  }
  return outcome;
}

}  // namespace

Command add_emit(CLI::App& root) {
  auto command = std::make_shared<EmitCommand>();
  CLI::App* app = root.add_subcommand("emit", "write a program as NKI source");
  app->add_option(
         "FILE", command->files,
         "the program, two for a pair of cores (lnc 2), - is standard input; or a file with a kernel in Python "
         "(.py), whose top-level code runs")
      ->required()
      ->expected(1, 2);
  app->add_option("-o,--out", command->out, "write to this file instead of standard output")->type_name("FILE");
  app->add_flag("--main", command->main, "add a block that runs the kernel on random inputs");
  app->add_flag("--roll,!--no-roll", command->roll, "make loops of what repeats (as it is without an option)");
  add_target(*app, command->target);
  add_source_roots(*app, command->source_roots);
  add_kernel_options(*app, command->kernel);
  app->footer(examples({"kiln emit softmax.kiln", "kiln emit softmax.kiln -o softmax.py --main",
                        "kiln emit kernel.py --arg x=float32[128,512]"}));
  return {app, [command] { return emit(*command); }, [command] { return any_python(command->files); }};
}

}  // namespace kiln::cli
