#include "kiln/sim/first_nonfinite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kiln/isa/text/print.h"
#include "kiln/sim/magnitude.h"
#include "kiln/sim/nonfinite_flow.h"
#include "kiln/sim/operand.h"
#include "kiln/sim/operand_values.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;
namespace {

// Calls fn(param) for every tile that an instruction writes numbers to.
template <class Fn>
void for_results(const InstView& inst, Fn&& fn) {
  const auto& params = inst.row().params;
  for (int p = 0; p < static_cast<int>(params.size()); ++p) {
    if (params[p].is_output() && inst.is_tile(p) && may_be_nonfinite(inst.dtype(p))) fn(p);
  }
}

// Calls fn(param, index, tile) for every tile of numbers that it reads, its own sum in PSUM included.
template <class Fn>
void for_operands(const Run& run, Fn&& fn) {
  const auto& params = run.row().params;
  for (int p = 0; p < static_cast<int>(params.size()); ++p) {
    const bool adds = params[p].is_output() && run.facts().sum_mode && run.psum_mode != PsumMode::overwrite;
    if (!params[p].is_input() && !adds) continue;
    const std::span<const Tile> tiles = tiles_of(run, p);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      if (may_be_nonfinite(tiles[i].dtype)) fn(p, static_cast<int>(i), tiles[i]);
    }
  }
}

// A copy with the same dtype makes nothing, and what reads no tile does as it is told.
bool only_moves(const InstView& inst) {
  const Facts& facts = inst.facts();
  const int result = inst.row().result;
  const int from = facts.copies >= 0 ? facts.copies : facts.repeats ? facts.repeats(inst) : -1;
  if (from >= 0) return inst.is_tile(from) && inst.dtype(from) == inst.dtype(result);
  for (std::size_t p = 0; p < inst.row().params.size(); ++p) {
    const Arg::Kind kind = inst.arg(static_cast<int>(p)).kind;
    if (inst.row().params[p].is_input() && (kind == Arg::Kind::access || kind == Arg::Kind::accesses)) return false;
  }
  return true;
}

// Whether a tile may lie over another one. Sources and destinations are the same elements or share none, unless all
// is read before anything is written.
bool lies_over(const Run& run, const Tile& a, const Tile& b) {
  if (a.data == b.data) return true;
  if (!run.facts().reads_first || !run.facts().reads_first(run)) return false;
  const auto end = [](const Tile& t) { return t.data + std::max<std::int64_t>(t.rows, 1) * std::abs(t.row_bytes); };
  return a.data < end(b) && b.data < end(a);
}

// Whether what lies in a tile is what the instruction's walk finds where it writes its result, without gaps, and no
// other result is written there before.
bool is_walked(const Run& run, const Seen& seen, const Tile& tile) {
  if (!run.facts().walks || seen.data != tile.data || !tile.is_dense()) return false;
  const Tile& result = run.tile(run.row().result);
  return result.data == seen.data && result.is_dense() && result.dtype == tile.dtype && result.rows == tile.rows &&
         result.free_size == tile.free_size;
}

}  // namespace

// What fits float32 fits the dtypes with as many bits of exponent.
FirstNonfinite::Kind FirstNonfinite::kind_of(DType dtype) {
  return info(dtype).exponent_bits < info(DType::float32).exponent_bits ? kRange : kResult;
}

bool FirstNonfinite::looks_at(const Run& run) const {
  if (!run.inputs_written || run.row().result < 0) return false;
  bool looks = false;
  for_results(run, [&](int p) { looks |= is_first(kind_of(run.dtype(p)), run.sequence); });
  return looks && !only_moves(run);
}

bool FirstNonfinite::looks_at(const Run& run, DType result) const {
  return run.inputs_written && run.row().result >= 0 && may_be_nonfinite(result) &&
         is_first(kind_of(result), run.sequence) && !only_moves(run);
}

Before& FirstNonfinite::look_before(const Run& run, Seen& seen) const {
  static thread_local Before kept;  // keeps its room: instructions are executed by the million
  Before& before = kept;            // found once
  before.clear();
  for_operands(run, [&](int param, int i, const Tile& tile) {
    bool is_over = false;
    for_results(run, [&](int result) { is_over |= param == result || lies_over(run, run.tile(result), tile); });
    if (!is_over) return;
    if (is_walked(run, seen, tile)) {
      seen.before.asked = true;
      seen.before.extreme = first_extreme(tile.dtype);
      before.push_back({param, i, 0, {}, true});
      return;
    }
    Overwritten& old = before.emplace_back(Overwritten{param, i, largest_magnitude(run.k, tile), {}});
    if (old.largest >= first_extreme(tile.dtype)) old.bits = bits_of(tile);
  });
  return before;
}

void FirstNonfinite::take_over(Seen& seen, Before& before) {
  for (Overwritten& old : before) {
    if (!old.by_walk) continue;
    old.largest = seen.before.largest;
    old.bits = seen.before.bits;
  }
}

void FirstNonfinite::look_after(const Run& run, Before& before, Seen& seen) {
  take_over(seen, before);
  for_results(run, [&](int param) {
    const Tile& tile = run.tile(param);
    if (!is_first(kind_of(tile.dtype), run.sequence)) return;
    const bool is_seen = seen.data == tile.data && seen.elements == tile.count();
    if ((is_seen ? seen.largest : largest_magnitude(run.k, tile)) >= first_nonfinite(tile.dtype))
      look_closer(run, before, param);
  });
}

void FirstNonfinite::look_closer(const Run& run, const Before& before, int param) {
  if (const auto element = first_made(run, before, param))
    found(kind_of(run.dtype(param)), run, before, param, *element);
}

void FirstNonfinite::found(Kind kind, const Run& run, const Before& before, int param, std::int64_t element) {
  const DType dtype = run.dtype(param);
  const float value = to_float(dtype, bits_of(run.tile(param), element));
  const std::string range =
      kind == kRange ? fmt::format("; {} ends at {}", name(dtype), largest_number(dtype)) : std::string();
  const Diagnostic diagnostic =
      broken(run_rules::kTable, kind == kRange ? run_rules::kFitsRange : run_rules::kFiniteResult,
             {.found = fmt::format("element {} of `{}` is {}{}", index_text(run.access(param), element),
                                   run.tensor(param).name, number_text(value), range),
              .loc = run.loc(),
              .context = print(run.program(), run.inst()),
              .operand = std::string(run.row().params[param].name),
              .facts = {{"operands", operand_values(run, before, param, element)}},
              .severity = mode_ == NanMode::error ? Severity::error : Severity::warning,
              .category = Category::invalid});
  if (mode_ == NanMode::error) throw Error(diagnostic);
  std::lock_guard lock(mutex_);
  if (!is_first(kind, run.sequence)) return;
  first_[kind].store(run.sequence, std::memory_order_relaxed);
  found_[kind] = {diagnostic, &run.inst(), run.loops ? run.loops->pass() : Pass{}};
}

std::vector<WarningSink::Warning> FirstNonfinite::take() {
  std::vector<std::pair<std::int64_t, WarningSink::Warning>> all;
  for (const Kind kind : {kResult, kRange}) {
    if (found_[kind]) all.emplace_back(first_[kind].load(), std::move(*found_[kind]));
  }
  std::ranges::stable_sort(all, {}, [](const auto& entry) { return entry.first; });
  std::vector<WarningSink::Warning> out;
  for (auto& entry : all) out.push_back(std::move(entry.second));
  return out;
}

}  // namespace kiln::sim
