#include "kiln/isa/instructions/shared/accumulator.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/semantics/rows.h"

namespace kiln::isa {
namespace {

// Whether the command takes this instruction's results in.
bool accumulates(ReduceCmd cmd) { return cmd >= ReduceCmd::reduce; }
// Whether what the accumulators held before is dropped.
bool starts(ReduceCmd cmd) { return cmd != ReduceCmd::idle && cmd != ReduceCmd::reduce; }

float* lanes(Run& r, const Reduction& d) {
  auto& all = d.bit == kActRegisters ? r.state().act_registers : r.state().vector_accumulators;
  return all.data() + r.tile(d.dst).lane;
}

void write_shadow(Track& t, int param, const std::vector<Shadow>& shadow) {
  const bool clean = std::all_of(shadow.begin(), shadow.end(), [](Shadow s) { return s == 0; });
  clean ? t.write_clean(param) : t.write(param, shadow);
}

}  // namespace

unsigned state_of(const InstView& v, StateBit bit, ReduceCmd cmd, int reduce_res) {
  return cmd != ReduceCmd::idle || v.has(reduce_res) ? unsigned{bit} : 0u;
}

std::vector<float> start_accumulators(Run& r, const Reduction& d) {
  const std::int64_t rows = r.tile(d.dst).rows;
  if (!starts(d.cmd)) return {lanes(r, d), lanes(r, d) + rows};
  std::vector<float> acc(rows, identity(d.op));
  for (std::int64_t row = 0; d.cmd == ReduceCmd::load_reduce && row < rows; ++row) acc[row] = r.column(d.init, row);
  return acc;
}

void put_back(Run& r, const Reduction& d, const std::vector<float>& acc) {
  if (r.kept_state & d.bit) std::copy(acc.begin(), acc.end(), lanes(r, d));
}

void map_and_reduce(Run& r, const Reduction& d, std::initializer_list<const Tile*> inputs,
                    FunctionRef<void(const RowChunk&)> body, Walk walk) {
  const Tile& dst = r.tile(d.dst);
  if (!state_of(r, d.bit, d.cmd, d.reduce_res)) return map_rows(r, dst, inputs, walk, body);
  std::vector<float> acc = start_accumulators(r, d);
  if (accumulates(d.cmd)) {
    map_and_fold(r, dst, inputs, d.op, acc.data(), body, walk);
  } else {
    map_rows(r, dst, inputs, walk, body);
  }
  put_back(r, d, acc);
  if (!r.has(d.reduce_res)) return;
  for (float& value : acc) value = d.negate ? -value : value;
  Rows(r, r.tile(d.reduce_res)).store(0, static_cast<std::int64_t>(acc.size()), acc.data());
}

TrackedLane* track_start(Track& t, const Reduction& d, ReductionRules rules) {
  TrackedLane* lane = t.lanes(d.bit, d.dst);
  const std::int64_t rows = t.partitions(d.dst);
  const bool keeps = d.cmd == ReduceCmd::idle && d.bit == kActRegisters;
  const bool goes_on = d.cmd == ReduceCmd::reduce || (keeps && t.has(d.reduce_res));
  const auto undefined = [](const TrackedLane& l) { return !l.defined; };
  const auto mixed = [&](const TrackedLane& l) { return l.op != d.op; };
  if (const TrackedLane* l = std::find_if(lane, lane + rows, undefined); goes_on && l != lane + rows)
    t.fail(*rules.undefined, fmt::format("nothing has started the reduction of row {}", l - lane));
  if (const TrackedLane* l = std::find_if(lane, lane + rows, mixed); d.cmd == ReduceCmd::reduce && l != lane + rows)
    t.warn(*rules.mixed, fmt::format("{} goes on where row {} was reduced with {}", name(d.op), l - lane, name(l->op)));
  if (starts(d.cmd)) std::fill_n(lane, rows, TrackedLane{.defined = true, .op = d.op});
  if (d.cmd == ReduceCmd::idle && !keeps) std::fill_n(lane, rows, TrackedLane{});
  if (d.cmd == ReduceCmd::load_reduce && t.is_tile(d.init) && !t.is_clean(d.init)) {
    const std::vector<Shadow> init = t.read(d.init);
    for (std::int64_t row = 0; row < rows; ++row) lane[row].shadow = init[row];
  }
  return lane;
}

void track_reduction(Track& t, const Reduction& d, ReductionRules rules, const std::vector<Shadow>& grid) {
  TrackedLane* lane = track_start(t, d, rules);
  write_shadow(t, d.dst, grid);
  const std::int64_t rows = t.partitions(d.dst), columns = t.free_size(d.dst);
  for (std::size_t i = 0; accumulates(d.cmd) && i < grid.size(); ++i) {
    Shadow& s = lane[static_cast<std::int64_t>(i) / columns].shadow;
    if (s == 0) s = grid[i];
  }
  if (!t.has(d.reduce_res)) return;
  std::vector<Shadow> column(rows);
  for (std::int64_t row = 0; row < rows; ++row) column[row] = lane[row].shadow;
  write_shadow(t, d.reduce_res, column);
}

}  // namespace kiln::isa
