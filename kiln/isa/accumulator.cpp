#include "kiln/isa/accumulator.h"

namespace kiln::isa {
namespace {
float* lanes(Run& r, StateBit bit, const Tile& tile) {
  auto& all = bit == kActRegisters ? r.state().act_registers : r.state().vector_accumulators;
  return all.data() + tile.lane;
}
}  // namespace

void track_accumulator(Track& t, StateBit bit, ReduceCmd cmd, bool reads_out, int undefined_rule) {
  const bool keeps = cmd == ReduceCmd::idle && bit == kActRegisters;
  if (cmd == ReduceCmd::reduce || (keeps && reads_out)) {
    if (!t.accumulator_defined(bit)) t.fail(undefined_rule, "nothing has started the reduction");
  }
  if (!keeps) t.set_accumulator(bit, cmd != ReduceCmd::idle);
}

std::vector<float> start_accumulators(Run& r, StateBit bit, ReduceCmd cmd, AluOp op, const Tile& tile,
                                      FunctionRef<float(std::int64_t)> init) {
  std::vector<float> acc(tile.rows);
  const float* held = lanes(r, bit, tile);
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const bool fresh = cmd == ReduceCmd::reset || cmd == ReduceCmd::reset_reduce;
    acc[row] = fresh ? identity(op) : cmd == ReduceCmd::load_reduce ? init(row) : held[row];
  }
  return acc;
}

void put_back(Run& r, StateBit bit, const Tile& tile, const std::vector<float>& acc) {
  std::copy(acc.begin(), acc.end(), lanes(r, bit, tile));
}

void store_column(Run& r, const Tile& column, const std::vector<float>& values) {
  for (std::int64_t row = 0; row < column.rows; ++row) store_row(r, column, row, 0, 1, &values[row]);
}

}  // namespace kiln::isa
