#include "kiln/sim/compute.h"

#include <cstdlib>

#include "kiln/sim/magnitude.h"
#include "kiln/sim/nonfinite_flow.h"
#include "kiln/sim/rounded_integers.h"

namespace kiln::sim {
namespace {

bool is_output(const isa::Run& run, const Operand& o) { return o.param >= 0 && run.row().params[o.param].is_output(); }

// Null when there are several, or lists of them.
const Operand* only_result(const isa::Run& run, const Operands& operands) {
  const Operand* result = nullptr;
  for (const Operand& o : operands.list) {
    if (!is_output(run, o)) continue;
    if (result) return nullptr;
    result = &o;
  }
  return result && run.arg(result->param).kind == isa::Arg::Kind::access ? result : nullptr;
}

// The tile that the instruction's walk may tell about: its result, which no other lies over. Null: none.
const isa::Tile* result_of(const isa::Run& run) {
  const int result = run.row().result;
  if (result < 0 || !run.is_tile(result)) return nullptr;
  const isa::Tile& tile = run.tile(result);
  const auto end = [](const isa::Tile& t) { return t.row(0) + t.rows * std::abs(t.row_bytes); };
  const auto& params = run.row().params;
  for (int p = 0; p < static_cast<int>(params.size()); ++p) {
    if (p == result || !params[p].is_output() || !run.has(p)) continue;
    if (run.arg(p).kind != isa::Arg::Kind::access) return nullptr;
    const isa::Tile& other = run.tile(p);
    if (tile.row_offset || other.row_offset || (tile.data < end(other) && other.data < end(tile))) return nullptr;
  }
  return &tile;
}

// Storages that nobody else writes to: HBM, which has one row, is left out, and so is memory of the caller.
bool covers_storage(const Operand& o) {
  const Storage& s = *o.storage;
  return s.rows > 1 && !s.is_external() && o.tile.is_dense() &&
         o.tile.count() * o.tile.element_bytes() == s.rows * s.row_bytes;
}

// Not so when it is read where an input lies.
bool lies_in_storage(const Operand& o) {
  const std::byte* begin = o.storage->data;
  return o.tile.data >= begin && o.tile.data < begin + o.storage->rows * o.storage->row_bytes;
}

// Whether a tile is read where the result is written.
bool is_overwritten(const isa::Run& run, const Operand& o, const Operand& result) {
  if (o.storage != result.storage || o.param < 0) return false;
  const bool adds = run.facts().sum_mode && run.psum_mode != isa::PsumMode::overwrite;
  return &o != &result || adds || run.row().params[result.param].is_input();
}

// Whether all of them are known to be plain numbers. `covers`: the result is all of its storage.
bool overwrites_plain(const isa::Run& run, const Operands& operands, const Operand& result, bool covers) {
  const std::optional<KnownLargest::Value> known = result.storage->largest.get();
  for (const Operand& o : operands.list) {
    if (!is_overwritten(run, o, result)) continue;
    if (!known || known->dtype != o.tile.dtype || known->magnitude >= first_extreme(known->dtype)) return false;
    const bool is_same = o.tile.data == result.tile.data && o.tile.count() == result.tile.count();
    if (is_same ? !covers : !covers_storage(o) || !lies_in_storage(o)) return false;
  }
  return true;
}

Before known_before(const isa::Run& run, const Operands& operands, const Operand& result) {
  Before before;
  const std::uint32_t largest = result.storage->largest.get().value_or(KnownLargest::Value{}).magnitude;
  for (const Operand& o : operands.list) {
    if (is_overwritten(run, o, result)) before.push_back({o.param, 0, largest, {}});
  }
  return before;
}

// All elements that the walk was asked to look at before it writes, it has looked at.
void compute_and_see(isa::Run& run, isa::Seen& seen) {
  run.seen = seen.data ? &seen : nullptr;
  compute_exactly(run);
  run.seen = nullptr;
  if (seen.before.asked) KILN_ASSERT(seen.before.elements == run.tile(run.row().result).count());
}

// What the instruction's own walk saw; nothing when nobody looks.
isa::Seen compute_and_look(isa::Run& run, FirstNonfinite* nonfinite) {
  if (!nonfinite || !nonfinite->looks_at(run)) {
    compute_exactly(run);
    return {};
  }
  const isa::Tile* result = result_of(run);
  isa::Seen seen{.data = result ? result->data : nullptr};
  Before& before = nonfinite->look_before(run, seen);
  compute_and_see(run, seen);
  nonfinite->look_after(run, before, seen);
  return seen;
}

// Of an instruction with several results, the one that its walk has told about.
void keep_largest(const isa::Run& run, const isa::Seen& seen, const Operands& operands) {
  for (const Operand& o : operands.list) {
    if (o.param == run.row().result && seen.data == o.tile.data && seen.elements == o.tile.count() && covers_storage(o))
      o.storage->largest.set({o.tile.dtype, seen.largest});
  }
}

}  // namespace

void forget_largest(const isa::Run& run, const Operands& operands) {
  for (const Operand& o : operands.list) {
    if (is_output(run, o)) o.storage->largest.reset();
  }
}

void compute_here(isa::Run& run, FirstNonfinite* nonfinite, const Operands& operands) {
  if (!nonfinite) return compute_exactly(run);
  const Operand* result = only_result(run, operands);
  if (!result || !nonfinite->looks_at(run, result->tile.dtype)) {
    forget_largest(run, operands);
    return keep_largest(run, compute_and_look(run, nonfinite), operands);
  }
  const isa::Tile& tile = result->tile;
  const bool covers = covers_storage(*result);
  isa::Seen seen{.data = tile.data};
  Before* before = overwrites_plain(run, operands, *result, covers) ? nullptr : &nonfinite->look_before(run, seen);
  compute_and_see(run, seen);
  if (before) FirstNonfinite::take_over(seen, *before);
  const std::uint32_t largest = seen.elements == tile.count() ? seen.largest
                                : covers
                                    ? run.k.largest(static_cast<int>(tile.element_bytes()), tile.data, 1, tile.count())
                                    : largest_magnitude(run.k, tile);
  if (largest >= first_nonfinite(tile.dtype))
    nonfinite->look_closer(run, before ? *before : known_before(run, operands, *result), result->param);
  result->storage->largest.reset();
  if (covers) result->storage->largest.set({tile.dtype, largest});
}

void compute(isa::Run& run, FirstNonfinite* nonfinite) { compute_and_look(run, nonfinite); }

}  // namespace kiln::sim
