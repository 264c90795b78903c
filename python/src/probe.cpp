// Probes of a trace: where Python asked for a tensor to be shown.
#include "kiln/rewrite/probe.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/src/bindings.h"
#include "python/src/trace.h"

namespace kiln::python {

std::size_t Trace::add_probe(const Tensor& tensor) {
  check_inside(tensor);
  const isa::Program& program = kernel.program();
  isa::LoopId loop = isa::kNone;
  const isa::Block* block = &program.body;
  for (std::size_t i = 0; i < kernel.open_loops(); ++i) {
    loop = block->back().index;
    block = &program.loops[loop].body;
  }
  probes_.push_back({loop, block->size(), tensor.view});
  return probes_.size() - 1;
}

// with_probes: the program, a fragment of the trace's, with these probes of the trace; with each its copy.
void bind_probes(nb::module_& m) {
  m.def(
      "with_probes",
      [](const isa::Program& whole, const Trace& trace, const std::vector<std::size_t>& numbers) {
        std::vector<rewrite::Probe> probes;
        for (const std::size_t number : numbers) probes.push_back(trace.probes().at(number));
        rewrite::Probed made = rewrite::with_probes(whole, probes);
        return std::pair(std::make_shared<isa::Program>(std::move(made.program)), std::move(made.copies));
      },
      nb::arg("program"), nb::arg("trace"), nb::arg("numbers"));
}

}  // namespace kiln::python
