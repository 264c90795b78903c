// The commands of the program `kiln` for Python: the same code, in this process.
#include "cli/main.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bindings.h"

namespace kiln::python {

void bind_cli(nb::module_& m) {
  m.def(
      "cli",
      [](std::vector<std::string> words) {
        words.insert(words.begin(), "kiln");
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        nb::gil_scoped_release released;
        return kiln::cli::main(static_cast<int>(words.size()), argv.data());
      },
      nb::arg("words"), "Runs a command of kiln, prints to stdout and stderr, and returns the exit code.");
}

}  // namespace kiln::python
