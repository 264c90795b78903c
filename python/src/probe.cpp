// Probes: points of a program where a tensor is shown each time that the program passes there. In the program
// that shows them, a probe is a copy of the view to a tensor of its own.
#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "kiln/isa/inst_view.h"
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

namespace {

using isa::Node;
using ProgramRef = std::shared_ptr<isa::Program>;

// Of a dma_copy whose two accesses are still to be set. What lies outside is left alone: it is shown as
// missing.
std::vector<isa::Arg> copy_args(Target target) {
  isa::Kernel k("copy", target);
  const isa::View t = k.hbm({1}, DType::uint8);
  k.dma_copy({.dst = t, .src = t, .oob_mode = isa::OobMode::skip});
  return k.program().args;
}

isa::TensorId add_tensor(isa::Program& program, const isa::View& view) {
  isa::Shape shape = view.shape();
  if (shape.empty()) shape = {1};
  const auto id = static_cast<isa::TensorId>(program.tensors.size());
  program.tensors.push_back({.name = fmt::format("shown {}", id),
                             .memory = Memory::hbm,
                             .dtype = view.dtype(),
                             .role = isa::Role::internal,
                             .shape = std::move(shape)});
  return id;
}

isa::InstructionId add_copy(isa::Program& program, isa::TensorId to, const isa::Access& from) {
  std::vector<isa::Arg> args = copy_args(program.target);
  for (const int param : {isa::args::dma_copy::dst, isa::args::dma_copy::src}) {
    args[param].index = static_cast<std::uint32_t>(program.accesses.size());
    program.accesses.push_back(param == isa::args::dma_copy::dst ? isa::whole(program, to) : from);
  }
  const auto id = static_cast<isa::InstructionId>(program.instructions.size());
  program.instructions.push_back(
      {.opcode = isa::Opcode::dma_copy, .first_arg = static_cast<std::uint32_t>(program.args.size())});
  program.args.insert(program.args.end(), args.begin(), args.end());
  return id;
}

// The program, a fragment of the trace's, with these probes of the trace; with each its copy.
std::pair<ProgramRef, std::vector<isa::InstructionId>> with_probes(const isa::Program& whole, const Trace& trace,
                                                                   const std::vector<std::size_t>& numbers) {
  auto program = std::make_shared<isa::Program>(whole);
  std::vector<isa::InstructionId> copies(numbers.size());
  // From the last one on: positions count the statements before a probe.
  for (std::size_t i = numbers.size(); i-- > 0;) {
    const Probe& probe = trace.probes().at(numbers[i]);
    const isa::TensorId tensor = add_tensor(*program, probe.view);
    copies[i] = add_copy(*program, tensor, probe.view.access());
    isa::Block& block = probe.loop == isa::kNone ? program->body : program->loops.at(probe.loop).body;
    const std::initializer_list<Node> nodes = {{Node::Kind::declare, tensor}, {Node::Kind::instruction, copies[i]}};
    block.insert(block.begin() + std::min(probe.position, block.size()), nodes);
  }
  return {program, copies};
}

}  // namespace

void bind_probes(nb::module_& m) {
  m.def("with_probes", &with_probes, nb::arg("program"), nb::arg("trace"), nb::arg("numbers"));
}

}  // namespace kiln::python
