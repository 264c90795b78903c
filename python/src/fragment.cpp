// Pieces of programs for Python: kiln/rewrite/fragment.h and what is asked about them.
#include "kiln/rewrite/fragment.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "kiln/analysis/meetings.h"
#include "kiln/analysis/trips.h"
#include "kiln/analysis/work.h"
#include "kiln/analysis/writers.h"
#include "kiln/isa/text/print.h"
#include "kiln/rewrite/in_place.h"
#include "python/src/bindings.h"

namespace kiln::python {

using isa::InstructionId;
using isa::Program;

// The rewritten program as an object of its own.
static std::shared_ptr<Program> made(Program&& program) { return std::make_shared<Program>(std::move(program)); }

void bind_fragments(nb::module_& m) {
  m.def(
      "fragment",
      [](const Program& whole, const std::vector<isa::TensorId>& outputs, const std::string& prefix, int lnc) {
        return made(rewrite::fragment(whole, outputs, prefix, lnc));
      },
      nb::arg("program"), nb::arg("outputs"), nb::arg("prefix") = "", nb::arg("lnc") = 1);
  m.def(
      "cut_at",
      [](const Program& whole, InstructionId last, bool before) { return made(rewrite::cut_at(whole, last, before)); },
      nb::arg("program"), nb::arg("last"), nb::arg("before") = false);
  m.def(
      "cut_at_meeting", [](const Program& whole, int count) { return made(rewrite::cut_at_meeting(whole, count)); },
      nb::arg("program"), nb::arg("count"));
  m.def(
      "first_pass", [](const Program& whole, int open_loops) { return made(rewrite::first_pass(whole, open_loops)); },
      nb::arg("program"), nb::arg("open_loops"));
  // None when the output may not take the input's place.
  m.def(
      "updated_in_place",
      [](const Program& whole, const std::string& input, const std::string& output) -> std::shared_ptr<Program> {
        const auto number = [&](const std::string& name) {
          return static_cast<isa::TensorId>(std::ranges::find(whole.tensors, name, &isa::Tensor::name) -
                                            whole.tensors.begin());
        };
        const isa::TensorId in = number(input), out = number(output);
        if (in == whole.tensors.size() || out == whole.tensors.size()) return nullptr;
        std::optional<Program> updated = rewrite::updated_in_place(whole, in, out);
        return updated ? made(std::move(*updated)) : nullptr;
      },
      nb::arg("program"), nb::arg("input"), nb::arg("output"));
  // (floating-point operations of the tensor engine, executed instructions), with loops whose end the run decides
  // counted once.
  m.def("work", [](const Program& program) {
    std::vector<std::int64_t> trips;
    for (const isa::Loop& loop : program.loops) trips.push_back(analysis::known_trips(loop).value_or(1));
    analysis::Work work;
    analysis::add_work(work, program, trips, arch(program.target));
    return nb::make_tuple(work.matmul_flops, analysis::executed_instructions(program, program.body, trips));
  });
  m.def("meetings", [](const Program& program) { return analysis::meetings(program); });
  m.def("writers", &analysis::writers_of, nb::arg("program"), nb::arg("tensor"));
  m.def("instruction_text",
        [](const Program& program, InstructionId id) { return print(program, program.instructions.at(id)); });
  m.def("instruction_location",
        [](const Program& program, InstructionId id) { return program.locs[program.instructions.at(id).loc]; });
}

}  // namespace kiln::python
