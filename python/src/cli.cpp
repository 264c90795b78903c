// The commands of the program `kiln` for Python: the same code, in this process.
#include "cli/main.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "cli/rule_examples.h"
#include "python/src/bindings.h"

namespace kiln::python {

void bind_cli(nb::module_& m) {
  m.def(
      "cli",
      [](std::vector<std::string> words, const std::map<std::string, std::shared_ptr<isa::Program>>& programs,
         int reserved_psum_banks) {
        cli::GivenPrograms given{.reserved_psum_banks = reserved_psum_banks};
        for (const auto& [name, program] : programs) given.programs.emplace(name, *program);
        words.insert(words.begin(), "kiln");
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        nb::gil_scoped_release released;
        return kiln::cli::main(static_cast<int>(words.size()), argv.data(), given);
      },
      nb::arg("words"), nb::arg("programs") = std::map<std::string, std::shared_ptr<isa::Program>>(),
      nb::arg("reserved_psum_banks") = 0,
      "Runs a command of kiln, prints to stdout and stderr, and returns the exit code. `programs` are FILEs of kiln "
      "time "
      "that are no files.");
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
