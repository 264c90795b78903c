// NKI_PRECISE_FP=0 for Python.
#include "kiln/rewrite/precision.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "python/src/bindings.h"

namespace kiln::python {

using ProgramRef = std::shared_ptr<isa::Program>;

void bind_precision(nb::module_& m) {
  m.def(
      "widen",
      [](const std::vector<ProgramRef>& programs) {
        std::vector<const isa::Program*> all;
        for (const ProgramRef& p : programs) all.push_back(p.get());
        rewrite::Widened widened = rewrite::widen(all);
        std::vector<ProgramRef> out;
        for (isa::Program& p : widened.programs) out.push_back(std::make_shared<isa::Program>(std::move(p)));
        return std::pair(std::move(out), std::move(widened.tensors));
      },
      nb::arg("programs"));
}

}  // namespace kiln::python
