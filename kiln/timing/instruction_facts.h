// What the model asks of an instruction beyond its cost. The answers are found by names of parameters and by opcodes;
// nothing else in this folder knows either.
#pragma once

#include <optional>

#include "kiln/isa/inst_view.h"

namespace kiln::timing {

// The two cores of a pair wait for each other in it.
bool meets_other_core(const isa::InstView& inst);

// An operand of the tensor engine that is loaded before the instruction begins.
bool is_stationary(const isa::InstView& inst, int param);

// A register argument: the instruction sets it, or else reads it.
bool sets_register(const isa::InstView& inst, int param);
bool loads_register_from_hbm(const isa::InstView& inst);

// The position of what it writes; -1 when no parameter is its one result.
int destination(const isa::InstView& inst);

// The function that the scalar engine applies, if any.
std::optional<ActFn> function_of(const isa::InstView& inst);
// Functions that need no table of their own.
bool is_plain_function(ActFn function);
// Whether the function's argument lies in SBUF.
bool takes_argument_from_sbuf(const isa::InstView& inst);

// The part of the tensor engine's array that an instruction asks for.
struct ArrayTile {
  std::int64_t row, column, rows, columns;
};
std::optional<ArrayTile> array_tile(const isa::InstView& inst);

// What a DMA asks for; unknown when it leaves the choice open.
isa::DgeMode asked_dge_mode(const isa::InstView& inst);
Engine asked_engine(const isa::InstView& inst);

}  // namespace kiln::timing
