#include "kiln/analysis/in_place.h"

#include <algorithm>

#include "kiln/analysis/lifetimes.h"
#include "kiln/analysis/region.h"
#include "kiln/analysis/statements.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/semantics/overlap.h"
#include "kiln/isa/uses.h"

namespace kiln::analysis {
namespace {

using isa::Access;
using isa::Address;
using isa::kNone;
using isa::Program;
using isa::TensorId;

struct Tile {
  const Access& access;
  bool is_written = false;
  bool is_result = false;      // what the sources of Facts::in_place may lie under
  bool may_lie_there = false;  // one of those sources
};

// Calls fn(tile) for every tile of an instruction, index tiles of run-time addresses included.
template <class Fn>
void for_each_tile(const isa::InstView& inst, Fn&& fn) {
  const Program& program = inst.program();
  for (int p = 0; p < static_cast<int>(inst.row().params.size()); ++p) {
    const isa::ParamInfo& param = inst.row().params[p];
    const isa::Arg& arg = inst.arg(p);
    const bool one = arg.kind == isa::Arg::Kind::access;
    if (!one && arg.kind != isa::Arg::Kind::accesses) continue;
    const bool in_place = one && (inst.facts().in_place & isa::param_bit(p));
    for (std::uint32_t k = 0; k < (one ? 1 : arg.count); ++k) {
      const Access& tile = program.accesses[arg.index + k];
      isa::for_each_use(program, tile, isa::Use::read, [&](const Access& access, isa::Use) {
        const bool is_tile = &access == &tile;
        fn(Tile{access, is_tile && param.is_output(), is_tile && p == inst.row().result, is_tile && in_place});
      });
    }
  }
}

}  // namespace

InPlace::InPlace(const Program& program, const Liveness& liveness)
    : program_(program), ends_in_(program.tensors.size(), kNone), begins_in_(program.tensors.size(), kNone) {
  const Lifetimes lifetimes(program);
  Position now = 0;
  for_each_statement(program, [&](const Statement& s) {
    if (s.is_instruction()) add(s.node.index, now, lifetimes.after(s.loop, s.index), liveness);
    ++now;
  });
}

void InPlace::add(isa::InstructionId id, Position now, std::span<const TensorId> dying, const Liveness& liveness) {
  const isa::InstView inst(program_, program_.instructions[id]);
  if (!inst.facts().in_place || dying.empty()) return;
  const auto is_free = [&](TensorId t) {
    return is_on_chip(program_.tensors[t].memory) && !program_.tensors[t].address;
  };
  std::vector<TensorId> sources, read, written;
  TensorId heir = kNone;
  for_each_tile(inst, [&](const Tile& tile) {
    const TensorId t = tile.access.tensor;
    (tile.is_written ? written : read).push_back(t);
    if (tile.may_lie_there && is_free(t) && liveness.tensors[t].end == now) sources.push_back(t);
    if (tile.is_result && is_free(t) && liveness.tensors[t].begin == now) heir = t;
  });
  const auto has = [](std::span<const TensorId> all, TensorId t) { return std::ranges::find(all, t) != all.end(); };
  if (heir == kNone || has(read, heir)) return;
  std::erase_if(sources, [&](TensorId t) {
    return has(written, t) || !has(dying, t) || program_.tensors[t].memory != program_.tensors[heir].memory;
  });
  if (sources.empty()) return;
  for (const TensorId t : sources) ends_in_[t] = id;
  begins_in_[heir] = id;
  any_ = true;
}

bool InPlace::may_lie(TensorId a, const Address& at_a, TensorId b, const Address& at_b) const {
  return hands_over(a, b) ? may_take(ends_in_[a], a, at_a, b, at_b) : may_take(ends_in_[b], b, at_b, a, at_a);
}

bool InPlace::may_take(isa::InstructionId id, TensorId source, const Address& source_at, TensorId heir,
                       const Address& heir_at) const {
  const isa::InstView inst(program_, program_.instructions[id]);
  bool may = true;
  for_each_tile(inst, [&](const Tile& to) {
    if (to.access.tensor != heir || !to.is_written) return;
    for_each_tile(inst, [&](const Tile& from) {
      if (from.access.tensor != source) return;
      const Region common = intersection(reach(program_, from.access, source_at), reach(program_, to.access, heir_at));
      may = may && (common.empty() ||
                    (to.is_result && from.may_lie_there &&
                     isa::are_same_elements(program_, {from.access, source_at}, {to.access, heir_at}, true)));
    });
  });
  return may;
}

void InPlace::append_places(TensorId tensor, TensorId partner, const Address& partner_at,
                            std::vector<Address>& out) const {
  const bool takes = hands_over(partner, tensor);
  const isa::InstView inst(program_, program_.instructions[takes ? begins_in_[tensor] : ends_in_[tensor]]);
  const Access& result = inst.access(inst.row().result);
  for_each_tile(inst, [&](const Tile& tile) {
    if (!tile.may_lie_there || tile.access.tensor != (takes ? partner : tensor)) return;
    const isa::PlacedAccess theirs{takes ? tile.access : result, partner_at};
    const isa::PlacedAccess ours{takes ? result : tile.access, {0, 0}};
    out.push_back({theirs.partition() - ours.partition(), theirs.byte() - ours.byte()});
  });
}

}  // namespace kiln::analysis
