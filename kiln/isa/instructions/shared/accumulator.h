// The accumulators of the vector engine and the reduction registers of the scalar engine, one per lane,
// shared by the instructions that reduce along a row while they compute. The values reduced are the float32
// results before they are converted to dst's dtype, in ascending order.
//   scalar engine (kActRegisters): reset sets the operator's identity, reset_reduce starts from it, reduce
//   goes on, idle changes nothing. vector engine (kVectorAccumulators): reset_reduce starts from the
//   identity, load_reduce from a given value, reduce goes on, idle leaves them undefined.
#pragma once

#include "kiln/isa/semantics/engine_state.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa {

// What an instruction asks for, with parameter positions.
struct Reduction {
  StateBit bit;
  ReduceCmd cmd;
  AluOp op;
  int dst;              // its rows decide the lanes
  int reduce_res;       // written last, so it wins over a dst that it aliases
  int init = -1;        // start values for load_reduce
  bool negate = false;  // reduce_res gets the negated value
};

// Hidden state that the reduction touches, for Semantics::state.
unsigned state_of(const InstView& v, StateBit bit, ReduceCmd cmd, int reduce_res);

// Computes dst with `body` (see map_rows), reduces and writes reduce_res. `walk`: how, at best.
void map_and_reduce(Run& r, const Reduction& reduction, std::initializer_list<const Tile*> inputs,
                    FunctionRef<void(const RowChunk&)> body, Walk walk = Walk::by_row);

// One accumulator per row of dst, started as the command says; put_back stores them in their lanes again, unless nobody
// goes on from there.
std::vector<float> start_accumulators(Run& r, const Reduction& reduction);
void put_back(Run& r, const Reduction& reduction, const std::vector<float>& acc);

// The rules that the state can break, none where no state can: going on from (or reading out) what no instruction
// started; going on with another operator (a warning).
struct ReductionRules {
  const Rule* undefined = nullptr;
  const Rule* mixed = nullptr;
};

// Gives dst its shadows (empty: clean), and with them the accumulators and reduce_res theirs.
void track_reduction(Track& t, const Reduction& reduction, ReductionRules rules, const std::vector<Shadow>& dst_shadow);

// The lanes after the command, before results go in.
TrackedLane* track_start(Track& t, const Reduction& reduction, ReductionRules rules);

}  // namespace kiln::isa
