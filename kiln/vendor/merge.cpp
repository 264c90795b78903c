#include "kiln/vendor/merge.h"

#include <algorithm>
#include <limits>

#include "kiln/isa/inst_view.h"
#include "kiln/vendor/trace.h"

namespace kiln::vendor {
using namespace isa;

namespace {

// A small computation of tiles on the chip.
bool is_small(const Program& p, InstructionId id, const Arch& arch, const CompilerSpec& compiler) {
  const InstView inst(p, p.instructions[id]);
  const Engine engine = resolve_engine(inst, arch);
  if (engine != Engine::vector && engine != Engine::scalar && engine != Engine::gpsimd) return false;
  bool small = inst.inst().dep_count == 0;
  for_each_use(p, inst.inst(), [&](const Access& access, Use) {
    small &= is_fixed(p, access) && access.row_size() <= compiler.merged_elements &&
             is_on_chip(p.tensors[access.tensor].memory);
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

bool can_merge(const Program& p, const TracedLoop& loop, const Arch& arch, const CompilerSpec& compiler) {
  const auto count = static_cast<std::int64_t>(loop.end - loop.first);
  constexpr std::int64_t kMost = std::numeric_limits<decltype(Instruction::together)>::max();
  if (loop.passes < 2 || loop.passes > std::min(compiler.merged_passes, kMost) || count % loop.passes != 0)
    return false;
  const auto each = static_cast<InstructionId>(count / loop.passes);
  for (InstructionId id = loop.first; id < loop.end; ++id) {
    if (!is_small(p, id, arch, compiler)) return false;
    if (id + each < loop.end && !follows(p, id, id + each)) return false;
  }
  return true;
}

// Where the body has an instruction; kNone: nowhere.
std::vector<std::uint32_t> positions_of(const Program& p) {
  std::vector<std::uint32_t> position(p.instructions.size(), kNone);
  for (std::uint32_t i = 0; i < p.body.size(); ++i)
    if (p.body[i].kind == Node::Kind::instruction) position[p.body[i].index] = i;
  return position;
}

// What ran pass by pass runs statement by statement: its tiles are declared, then come all passes of the first
// statement, then all of the second. A loop of which something is missing or has moved stays as it is.
void put_in_order(Program& p, const TracedLoop& loop, const std::vector<std::uint32_t>& position) {
  const std::uint32_t begin = position[loop.first], end = position[loop.end - 1];
  const InstructionId count = loop.end - loop.first;
  if (begin == kNone || end == kNone || end < begin) return;
  Block nodes;
  for (std::uint32_t i = begin; i <= end; ++i)
    if (p.body[i].kind == Node::Kind::declare) nodes.push_back(p.body[i]);
  const auto passes = static_cast<InstructionId>(loop.passes), each = count / passes;
  for (InstructionId i = 0; i < count; ++i) {
    const std::uint32_t at = position[loop.first + i % passes * each + i / passes];
    if (at == kNone || at < begin || at > end) return;
    nodes.push_back(p.body[at]);
  }
  if (nodes.size() == end - begin + 1) std::copy(nodes.begin(), nodes.end(), p.body.begin() + begin);
}

}  // namespace

std::int64_t merge(Program& program, const Arch& arch, const CompilerSpec& compiler) {
  std::int64_t merged = 0;
  InstructionId inside = 0;  // where the last loop ends: one that begins before is around it
  const std::vector<std::uint32_t> position = positions_of(program);
  for (const TracedLoop& loop : program.traced_loops) {
    const bool innermost = loop.first >= inside;
    inside = std::max(inside, loop.end);
    if (!innermost || !can_merge(program, loop, arch, compiler)) continue;
    for (InstructionId id = loop.first; id < loop.end; ++id)
      program.instructions[id].together = static_cast<std::uint16_t>(loop.passes);
    put_in_order(program, loop, position);
    merged += static_cast<std::int64_t>(loop.end - loop.first);
  }
  return merged;
}

}  // namespace kiln::vendor
