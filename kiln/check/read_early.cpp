#include "kiln/check/read_early.h"

#include <algorithm>

#include "kiln/isa/uses.h"

namespace kiln::check {
using namespace analysis;
namespace {

// Where the last write and the last read of a tensor stand, once everything has moved up.
struct Last {
  Position write = 0, read = 0;
};

}  // namespace

Liveness read_early(const isa::Program& program, const Liveness& liveness) {
  Liveness out = liveness;
  if (!program.loops.empty()) return out;
  const auto is_psum = [&](isa::TensorId id) { return program.tensors[id].memory == Memory::psum; };
  std::vector<Last> last(program.tensors.size());
  std::vector<Position> end(program.tensors.size());
  for (Position now = 0; now < liveness.nodes.size(); ++now) {
    const isa::Node& node = liveness.nodes[now];
    if (node.kind != isa::Node::Kind::instruction) continue;
    const isa::Instruction& inst = program.instructions[node.index];
    Position ready = 0;
    bool fills_psum = false;
    isa::for_each_use(program, inst, [&](const isa::Access& access, isa::Use use) {
      const Last& l = last[access.tensor];
      ready = std::max({ready, l.write, use == isa::Use::read ? 0 : l.read});
      fills_psum = fills_psum || (use != isa::Use::read && is_psum(access.tensor));
    });
    const Position at = fills_psum ? now : ready;  // only what frees PSUM moves
    isa::for_each_use(program, inst, [&](const isa::Access& access, isa::Use use) {
      Last& l = last[access.tensor];
      if (use != isa::Use::write) l.read = std::max(l.read, at);
      if (use != isa::Use::read) l.write = std::max(l.write, at);
      end[access.tensor] = std::max(end[access.tensor], at);
    });
  }
  for (isa::TensorId id = 0; id < program.tensors.size(); ++id) {
    const isa::Tensor& t = program.tensors[id];
    if (is_psum(id) && !t.address && t.role == isa::Role::internal && !out.tensors[id].empty())
      out.tensors[id].end = std::max(out.tensors[id].begin, end[id]);
  }
  return out;
}

}  // namespace kiln::check
