#include "kiln/vendor/merge.h"

#include <algorithm>

#include "kiln/isa/inst_view.h"
#include "kiln/vendor/trace.h"

namespace kiln::vendor {
using namespace isa;

namespace {

constexpr std::int64_t kMostPasses = 128;
constexpr std::int64_t kSmall = 16;  // elements per partition

// A small computation of tiles on the chip.
bool is_small(const Program& p, InstructionId id, const Arch& arch) {
  const InstView inst(p, p.instructions[id]);
  const Engine engine = resolve_engine(inst, arch);
  if (engine != Engine::vector && engine != Engine::scalar && engine != Engine::gpsimd) return false;
  bool small = inst.inst().dep_count == 0;
  for_each_use(p, inst.inst(), [&](const Access& access, Use) {
    small &= is_fixed(p, access) && access.row_size() <= kSmall && is_on_chip(p.tensors[access.tensor].memory);
  });
  return small;
}

// The same statement in the next pass: alike, and writing elsewhere.
bool follows(const Program& p, InstructionId a, InstructionId b) {
  if (p.instructions[a].opcode != p.instructions[b].opcode) return false;
  std::vector<const Access*> first, second;
  bool moves = false;
  for_each_use(p, p.instructions[a], [&](const Access& access, Use) { first.push_back(&access); });
  std::size_t at = 0;
  bool alike = true;
  for_each_use(p, p.instructions[b], [&](const Access& access, Use use) {
    if (at >= first.size()) return void(alike = false);
    const Access& before = *first[at++];
    alike &= before.rank == access.rank && std::equal(before.dims, before.dims + before.rank, access.dims);
    if (use != Use::read) moves |= before.tensor != access.tensor || before.offset.constant != access.offset.constant;
  });
  return alike && at == first.size() && moves;
}

bool can_merge(const Program& p, const TracedLoop& loop, const Arch& arch) {
  const auto count = static_cast<std::int64_t>(loop.end - loop.first);
  if (loop.passes < 2 || loop.passes > kMostPasses || count % loop.passes != 0) return false;
  const auto each = static_cast<InstructionId>(count / loop.passes);
  for (InstructionId id = loop.first; id < loop.end; ++id) {
    if (!is_small(p, id, arch)) return false;
    if (id + each < loop.end && !follows(p, id, id + each)) return false;
  }
  return true;
}

}  // namespace

std::int64_t merge(Program& program, const Arch& arch) {
  std::int64_t merged = 0;
  InstructionId done = 0;
  for (std::size_t i = 0; i < program.traced_loops.size(); ++i) {
    const TracedLoop loop = program.traced_loops[i];
    if (loop.first < done || !can_merge(program, loop, arch)) continue;
    done = loop.end;  // a loop around it is not innermost
    for (InstructionId id = loop.first; id < loop.end; ++id)
      program.instructions[id].together = static_cast<std::uint16_t>(loop.passes);
    merged += static_cast<std::int64_t>(loop.end - loop.first);
  }
  return merged;
}

}  // namespace kiln::vendor
