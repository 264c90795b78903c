#include "kiln/sim/compute.h"

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

// Storages that nobody else writes to: HBM, which has one row, is left out, and so is memory of the caller.
bool covers_storage(const Operand& o) {
  const Storage& s = *o.storage;
  return s.rows > 1 && !s.is_external() && o.tile.is_dense() &&
         o.tile.count() * o.tile.element_bytes() == s.rows * s.row_bytes;
}

// Calls fn(operand) for the tiles that are read where the result is written, until one of them gives false.
template <class Fn>
bool all_overwritten(const isa::Run& run, const Operands& operands, const Operand& result, Fn&& fn) {
  const bool adds = run.facts().sum_mode && run.psum_mode != isa::PsumMode::overwrite;
  const bool reads_result = adds || run.row().params[result.param].is_input();
  for (const Operand& o : operands.list) {
    if (o.storage == result.storage && o.param >= 0 && (&o != &result || reads_result) && !fn(o)) return false;
  }
  return true;
}

// Whether all of them are known to be plain numbers.
bool overwrites_plain(const isa::Run& run, const Operands& operands, const Operand& result) {
  return all_overwritten(run, operands, result, [&](const Operand& o) {
    const auto& known = o.storage->largest;
    return known && known->dtype == o.tile.dtype && known->magnitude < first_extreme(known->dtype) && covers_storage(o);
  });
}

Before known_before(const isa::Run& run, const Operands& operands, const Operand& result) {
  Before before;
  all_overwritten(run, operands, result, [&](const Operand& o) {
    before.push_back({o.param, 0, o.storage->largest->magnitude, {}});
    return true;
  });
  return before;
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
    return compute(run, nonfinite);
  }
  const Before* before = overwrites_plain(run, operands, *result) ? nullptr : &nonfinite->look_before(run);
  compute_exactly(run);
  const isa::Tile& tile = result->tile;
  const std::uint32_t largest = largest_magnitude(run.k, tile);
  if (largest >= first_nonfinite(tile.dtype))
    nonfinite->look_closer(run, before ? *before : known_before(run, operands, *result), result->param);
  result->storage->largest.reset();
  if (covers_storage(*result)) result->storage->largest = {tile.dtype, largest};
}

void compute(isa::Run& run, FirstNonfinite* nonfinite) {
  if (!nonfinite || !nonfinite->looks_at(run)) return compute_exactly(run);
  const Before& before = nonfinite->look_before(run);
  compute_exactly(run);
  nonfinite->look_after(run, before);
}

}  // namespace kiln::sim
