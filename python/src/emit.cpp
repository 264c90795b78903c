// Programs as NKI source, for Python.
#include "kiln/emit/emit.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "kiln/rewrite/unroll.h"
#include "python/src/bindings.h"

namespace kiln::python {

using ProgramRef = std::shared_ptr<isa::Program>;

namespace {

std::string emit_programs(const std::vector<ProgramRef>& programs, bool roll, bool main, const std::string& origin,
                          const std::vector<std::string>& outputs, const std::map<std::string, std::string>& constants,
                          const std::vector<std::vector<std::string>>& groups) {
  std::vector<const isa::Program*> cores;
  for (const ProgramRef& p : programs) cores.push_back(p.get());
  const isa::Launch launch(std::move(cores));
  nb::gil_scoped_release released;
  return emit::emit(
      launch,
      {.roll = roll, .main = main, .origin = origin, .outputs = outputs, .constants = constants, .groups = groups});
}

}  // namespace

void bind_emit(nb::module_& m) {
  m.def("emit", &emit_programs, nb::arg("programs"), nb::arg("roll") = true, nb::arg("main") = false,
        nb::arg("origin") = "", nb::arg("outputs") = std::vector<std::string>(),
        nb::arg("constants") = std::map<std::string, std::string>(),
        nb::arg("groups") = std::vector<std::vector<std::string>>(), "The programs of a logical core as NKI source.");
  m.def(
      "normal_form", [](const isa::Program& p) { return std::make_shared<isa::Program>(rewrite::normal_form(p)); },
      nb::arg("program"), "The program unrolled, without what its writer may choose: equal programs print the same.");
}

}  // namespace kiln::python
