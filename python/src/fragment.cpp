// Pieces of traced programs, to look inside: the first instructions of one, with chosen tensors as outputs
// wherever they live; who writes a tensor; an instruction as text.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "kiln/check/uses.h"
#include "kiln/isa/print.h"
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

bool holds(const isa::Program& program, const isa::Node& node, isa::InstructionId id) {
  if (node.kind == isa::Node::Kind::instruction) return node.index == id;
  if (node.kind != isa::Node::Kind::loop) return false;
  const isa::Block& body = program.loops[node.index].body;
  return std::any_of(body.begin(), body.end(), [&](const isa::Node& n) { return holds(program, n, id); });
}

// Takes away the statements behind the one that holds `last`; declarations stay.
void cut_behind(isa::Program& program, isa::InstructionId last) {
  bool behind = false;
  std::erase_if(program.body, [&](const isa::Node& node) {
    if (behind) return node.kind != isa::Node::Kind::declare;
    behind = holds(program, node, last);
    return false;
  });
}

// The program up to and including instruction `last`, whose outputs are these tensors. They begin with what
// the caller's buffer holds, so that bytes nobody writes can be told.
std::shared_ptr<isa::Program> fragment(const isa::Program& whole, const std::vector<isa::TensorId>& outputs,
                                       std::optional<isa::InstructionId> last) {
  auto program = std::make_shared<isa::Program>(whole);
  program->fragment = true;
  program->lnc = 1;
  for (isa::Tensor& t : program->tensors) {
    if (t.role == isa::Role::output) t.role = isa::Role::internal;
  }
  for (const isa::TensorId id : outputs) {
    isa::Tensor& t = program->tensors.at(id);
    if (t.role == isa::Role::internal) t.role = isa::Role::inout;
  }
  if (last) cut_behind(*program, *last);
  return program;
}

std::vector<isa::InstructionId> writers(const isa::Program& program, isa::TensorId tensor) {
  std::vector<isa::InstructionId> out;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    bool writes = false;
    check::for_each_use(program, program.instructions[i], [&](const isa::Access& access, check::Use use) {
      writes |= use != check::Use::read && access.tensor == tensor;
    });
    if (writes) out.push_back(static_cast<isa::InstructionId>(i));
  }
  return out;
}

}  // namespace

void bind_fragments(nb::module_& m) {
  m.def("fragment", &fragment, nb::arg("program"), nb::arg("outputs"), nb::arg("last") = nb::none());
  m.def("writers", &writers, nb::arg("program"), nb::arg("tensor"));
  m.def("instruction_text", [](const isa::Program& program, isa::InstructionId id) {
    return print(program, program.instructions.at(id));
  });
  m.def("instruction_location", [](const isa::Program& program, isa::InstructionId id) {
    return program.locs[program.instructions.at(id).loc];
  });
}

}  // namespace kiln::python
