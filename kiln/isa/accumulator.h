// The accumulators of the vector engine and the reduction registers of the scalar engine, shared by the
// instructions that reduce along a row while they compute.
#pragma once

#include "kiln/isa/engine_state.h"
#include "kiln/isa/run.h"
#include "kiln/isa/track.h"

namespace kiln::isa {

// Which commands touch the accumulators, and what is left in them.
//   scalar engine (kActRegisters): idle keeps them, reset sets the identity, reduce goes on, reset_reduce
//   starts anew. vector engine (kVectorAccumulators): idle leaves them undefined, reset_reduce and
//   load_reduce start anew, reduce goes on.
// Going on from, or reading out, accumulators that hold nothing defined breaks rule `undefined_rule`.
void track_accumulator(Track& t, StateBit bit, ReduceCmd cmd, bool reads_out, int undefined_rule);

// Whether the command adds this instruction's results.
inline bool accumulates(ReduceCmd cmd) {
  return cmd == ReduceCmd::reduce || cmd == ReduceCmd::reset_reduce || cmd == ReduceCmd::load_reduce;
}

// One accumulator per row of `tile`: copies of the lanes, started as the command says (`init` gives the start
// value of a row for load_reduce). Give them back with `put_back`.
std::vector<float> start_accumulators(Run& r, StateBit bit, ReduceCmd cmd, AluOp op, const Tile& tile,
                                      FunctionRef<float(std::int64_t)> init);
void put_back(Run& r, StateBit bit, const Tile& tile, const std::vector<float>& acc);

// Writes one value per row to a (P, 1) tile.
void store_column(Run& r, const Tile& column, const std::vector<float>& values);

}  // namespace kiln::isa
