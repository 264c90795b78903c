// The commands of the program `kiln` for Python: the same code, in this process.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "cli/main.h"
#include "cli/program_file.h"
#include "cli/rule_examples.h"
#include "cli/side_by_side.h"
#include "cli/tidy_signals.h"
#include "kiln/base/file.h"
#include "python/src/bindings.h"
#include "python/src/verdict.h"

namespace kiln::python {
namespace {

// An exception of Python as Error, when it carries diagnostics.
[[noreturn]] void rethrow(nb::python_error& error) {
  const nb::object value = nb::borrow(error.value());
  std::vector<Diagnostic> diagnostics;  // somebody else's exception may have an attribute of this name, or none in it
  if (nb::hasattr(value, "diagnostics") && nb::try_cast(value.attr("diagnostics"), diagnostics) && !diagnostics.empty())
    throw Error(std::move(diagnostics));
  throw std::runtime_error(error.what());  // what() is text of Python's, and the interpreter is not held later on
}

// Asks trace(file, compared, chip) for (programs, title, reserved PSUM banks, note).
cli::TracedKernel traced(const nb::object& trace, const std::string& file, bool compared, const std::string& chip) {
  const nb::gil_scoped_acquire gil;
  try {
    const auto [programs, title, banks, note] =
        nb::cast<std::tuple<std::vector<ProgramRef>, std::string, int, std::string>>(trace(file, compared, chip));
    cli::TracedKernel kernel{.programs = {}, .title = title, .reserved_psum_banks = banks, .note = note};
    for (const ProgramRef& program : programs) kernel.programs.push_back(*program);
    return kernel;
  } catch (nb::python_error& error) {
    rethrow(error);
  }
}

// The exit code, or what Python is to perform.
nb::object run_cli(std::vector<std::string> words, nb::object trace) {
  std::optional<cli::PythonRequest> request;
  cli::Host host;
  host.hand_over = [&](const cli::PythonRequest& r) {
    request = r;
    return 0;
  };
  if (!trace.is_none()) {
    host.trace = [&](const std::string& file, bool compared, const std::string& chip) {
      return traced(trace, file, compared, chip);
    };
  }
  int code = 0;
  {
    const nb::gil_scoped_release released;
    code = cli::main(std::move(words), host);
  }
  return request ? nb::cast(std::move(*request)) : nb::cast(code);
}

// (cores, number of errors, number of warnings) for each chip.
using ChipVerdict = std::tuple<CheckedCores, std::size_t, std::size_t>;

std::string check_side_by_side(const std::string& title, const std::vector<ChipVerdict>& chips) {
  std::vector<check::Verdict> verdicts;
  for (const auto& [cores, errors, warnings] : chips) verdicts.push_back(verdict_of(title, cores, errors, warnings));
  return cli::side_by_side(verdicts);
}

}  // namespace

void bind_cli(nb::module_& m) {
  nb::class_<cli::PythonRequest>(m, "PythonRequest", "A command line that Python is to perform.")
      .def_ro("command", &cli::PythonRequest::command)
      .def_ro("words", &cli::PythonRequest::words)
      .def_ro("options", &cli::PythonRequest::options)
      .def_ro("script_words", &cli::PythonRequest::script_words);
  m.def("cli", &run_cli, nb::arg("words"), nb::arg("trace") = nb::none(),
        "Runs a command of kiln, prints to stdout and stderr, and returns the exit code; a PythonRequest when it "
        "concerns kernels in Python. `kiln time` is performed all the same when it gets trace(file, compared, chip), "
        "which returns (programs, title, reserved PSUM banks, note).");
  m.def(
      "read_program",
      [](const std::string& path, const std::vector<std::string>& source_roots) {
        return std::make_shared<isa::Program>(cli::read_program(path, source_roots));
      },
      nb::arg("path"), nb::arg("source_roots"), "The program of a file in text form; - is standard input.");
  m.def(
      "require_outputs",
      [](const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
        require_apart(inputs, outputs);
        require_writable(outputs);
      },
      nb::arg("inputs"), nb::arg("outputs"), "Refuses files to write that are among the inputs or cannot be written.");
  m.def("tidy_on_signals", &cli::tidy_on_signals,
        "For the program `kiln` alone: signals that end the process remove its temporary files first.");
  m.def("check_side_by_side", &check_side_by_side, nb::arg("title"), nb::arg("chips"),
        "The verdicts for every chip, each (cores, errors, warnings) as for check_summary.");
  m.def(
      "each_once", [](const std::vector<std::vector<Diagnostic>>& by_chip) { return cli::each_once(by_chip); },
      nb::arg("by_chip"), "The diagnostics for every chip, with those once that several have.");
  m.def(
      "rule_examples",
      [] {
        nb::list examples;
        for (const cli::RuleExample& e : cli::rule_examples())
          examples.append(nb::make_tuple(e.code, e.form, e.wrong, e.right, e.also));
        return examples;
      },
      "The examples of the rules: (code, form, wrong, right, codes that the wrong one breaks as well).");
  m.def("rule_example_text", &cli::example_text,
        "The example of a rule as `kiln explain` shows it; empty without one.");
}

}  // namespace kiln::python
