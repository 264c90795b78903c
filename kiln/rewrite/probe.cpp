#include "kiln/rewrite/probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/inst_view.h"

namespace kiln::rewrite {
using namespace isa;

namespace {

// Of a dma_copy whose two accesses are still to be set. What lies outside is left alone: it is shown as
// missing.
std::vector<Arg> copy_args(Target target) {
  Kernel k("copy", target);
  const View t = k.hbm({1}, DType::uint8);
  k.dma_copy({.dst = t, .src = t, .oob_mode = OobMode::skip});
  return k.program().args;
}

TensorId add_tensor(Program& program, const View& view) {
  Shape shape = view.shape();
  if (shape.empty()) shape = {1};
  const auto id = static_cast<TensorId>(program.tensors.size());
  program.tensors.push_back({.name = fmt::format("shown {}", id),
                             .memory = Memory::hbm,
                             .dtype = view.dtype(),
                             .role = Role::internal,
                             .shape = std::move(shape)});
  return id;
}

InstructionId add_copy(Program& program, TensorId to, const Access& from) {
  std::vector<Arg> args = copy_args(program.target);
  for (const int param : {args::dma_copy::dst, args::dma_copy::src}) {
    args[param].index = static_cast<std::uint32_t>(program.accesses.size());
    program.accesses.push_back(param == args::dma_copy::dst ? whole(program, to) : from);
  }
  const auto id = static_cast<InstructionId>(program.instructions.size());
  program.instructions.push_back(
      {.opcode = Opcode::dma_copy, .first_arg = static_cast<std::uint32_t>(program.args.size())});
  program.args.insert(program.args.end(), args.begin(), args.end());
  return id;
}

}  // namespace

Probed with_probes(Program program, std::span<const Probe> probes) {
  std::vector<InstructionId> copies(probes.size());
  // From the last one on: positions count the statements before a probe.
  for (std::size_t i = probes.size(); i-- > 0;) {
    const Probe& probe = probes[i];
    const TensorId tensor = add_tensor(program, probe.view);
    copies[i] = add_copy(program, tensor, probe.view.access());
    Block& block = probe.loop == kNone ? program.body : program.loops.at(probe.loop).body;
    const std::initializer_list<Node> nodes = {{Node::Kind::declare, tensor}, {Node::Kind::instruction, copies[i]}};
    block.insert(block.begin() + std::min(probe.position, block.size()), nodes);
  }
  return {std::move(program), std::move(copies)};
}

}  // namespace kiln::rewrite
