#include "kiln/vendor/order_loads.h"

#include <algorithm>

#include "kiln/vendor/trace.h"

namespace kiln::vendor {
using namespace isa;

namespace {

struct Load {
  std::uint32_t position;  // in the body
  std::uint32_t used;      // where its tile is read first
};

// The tile that an instruction fills from an argument of the kernel and that nothing else writes; kNone: none.
TensorId loaded_tile(const Program& p, InstructionId id, const std::vector<std::uint32_t>& writers) {
  const Instruction& inst = p.instructions[id];
  TensorId tile = kNone;
  bool from_argument = false, other = inst.dep_count > 0;
  for_each_use(p, inst, [&](const Access& access, Use use) {
    const Tensor& tensor = p.tensors[access.tensor];
    if (use == Use::read) {
      from_argument = tensor.role == Role::input && writers[access.tensor] == 0;
      other |= !from_argument || !is_fixed(p, access);
    } else {
      tile = access.tensor;
      other |= use != Use::write || writers[tile] != 1 || !is_free_tile(tensor, Memory::sbuf);
    }
  });
  return from_argument && !other ? tile : kNone;
}

}  // namespace

std::int64_t order_loads(Program& p, const Arch&, const CompilerSpec&) {
  const std::vector<std::uint32_t> writers = writers_of(p);
  std::vector<std::uint32_t> load_of(p.tensors.size(), kNone);
  std::vector<Load> loads;
  for (std::uint32_t i = 0; i < p.body.size(); ++i) {
    if (p.body[i].kind == Node::Kind::loop) return 0;
    if (p.body[i].kind != Node::Kind::instruction) continue;
    for_each_use(p, p.instructions[p.body[i].index], [&](const Access& access, Use) {
      const std::uint32_t load = load_of[access.tensor];
      if (load != kNone && loads[load].used == kNone) loads[load].used = i;
    });
    const TensorId tile = loaded_tile(p, p.body[i].index, writers);
    if (tile == kNone) continue;
    load_of[tile] = static_cast<std::uint32_t>(loads.size());
    loads.push_back({i, kNone});
  }
  std::vector<Load> sorted = loads;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Load& a, const Load& b) { return a.used < b.used; });
  Block body = p.body;
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (sorted[i].position == loads[i].position) continue;
    body[loads[i].position] = p.body[sorted[i].position];
    ++moved;
  }
  if (moved == 0) return 0;
  // Declarations come before what they are used by: those of loaded tiles, to the front.
  std::stable_partition(body.begin(), body.end(), [&](const Node& node) {
    return node.kind == Node::Kind::declare && load_of[node.index] != kNone;
  });
  p.body = std::move(body);
  return moved;
}

}  // namespace kiln::vendor
