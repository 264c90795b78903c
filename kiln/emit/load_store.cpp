#include "kiln/emit/load_store.h"

#include <algorithm>

#include "kiln/isa/default_arg.h"

namespace kiln::emit {
namespace {

// Whether they left it open, and it is nothing but a destination and a source.
bool is_left_open(const isa::Program& program, const Item& item) {
  if (item.kind != Item::Kind::instruction || item.waits || !item.makes.empty()) return false;
  const isa::Instruction& inst = program.instructions[item.source];
  if (!inst.left_open || inst.name != isa::kNone) return false;
  const auto defaults = isa::default_args(inst.opcode);
  for (std::size_t i = kSource + 1; i < defaults.size(); ++i) {
    if (!isa::same_scalar(program.arg(inst, static_cast<int>(i)), defaults[i])) return false;
  }
  return true;
}

bool is_whole(const isa::Program& program, const isa::Access& a) {
  const isa::Access whole = isa::whole(program, a.tensor);
  const bool is_fixed = a.dynamic == isa::kNone && !a.offset.term_count && !a.partition.term_count;
  return is_fixed && a.dtype == whole.dtype && a.rank == whole.rank && !a.offset.constant && !a.partition.constant &&
         std::equal(a.dims, a.dims + a.rank, whole.dims, [](isa::Dim x, isa::Dim y) {
           return x.count == y.count && (x.stride == y.stride || x.count == 1);
         });
}

std::vector<std::int64_t> counts(const isa::Access& a) {
  std::vector<std::int64_t> found;
  for (int d = 0; d < a.rank; ++d) found.push_back(a.dims[d].count);
  return found;
}

std::vector<std::int64_t> counts_without_ones(const isa::Access& a) {
  std::vector<std::int64_t> found = counts(a);
  std::erase(found, 1);
  return found;
}

}  // namespace

const isa::Access& operand(const isa::Program& program, const Item& item, int param) {
  return program.accesses[program.arg(program.instructions[item.source], param).index];
}

bool is_made_by_load(const isa::Program& program, const Outline& outline, const std::vector<Item>& block,
                     std::size_t at) {
  if (block[at].kind != Item::Kind::declare || at + 1 >= block.size()) return false;
  if (!is_left_open(program, block[at + 1])) return false;
  const isa::TensorId id = block[at].source;
  const isa::Tensor& tile = program.tensors[id];
  if (tile.memory != Memory::sbuf || tile.address || outline.named.contains(id)) return false;
  const isa::Access& dst = operand(program, block[at + 1], kDestination);
  const isa::Access& src = operand(program, block[at + 1], kSource);
  return dst.tensor == id && is_whole(program, dst) && !is_on_chip(program.tensors[src.tensor].memory) &&
         src.rank >= 2 && counts(src) == counts(dst);
}

bool is_store(const isa::Program& program, const Item& item) {
  if (!is_left_open(program, item)) return false;
  const isa::Access& dst = operand(program, item, kDestination);
  const isa::Access& src = operand(program, item, kSource);
  return !is_on_chip(program.tensors[dst.tensor].memory) && program.tensors[src.tensor].memory == Memory::sbuf &&
         counts_without_ones(dst) == counts_without_ones(src);
}

}  // namespace kiln::emit
