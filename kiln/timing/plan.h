// Plan: what the model needs to know about each instruction of a program, worked out once.
#pragma once

#include <span>
#include <vector>

#include "kiln/analysis/box.h"
#include "kiln/timing/op.h"
#include "kiln/timing/program_change.h"

namespace kiln::timing {

using analysis::Box;
using analysis::BoxShape;

struct Plan {
  std::vector<Op> ops;  // by InstructionId
  std::vector<Use> uses;
  std::vector<BoxShape> shapes;
  std::vector<isa::RegisterId> registers;
  std::vector<bool> tracked;                  // by tensor: accesses can depend on each other
  std::vector<bool> spread;                   // by tensor: a spread row, in PSUM; empty: none is
  std::vector<isa::LoopId> loop_of_register;  // of induction registers; isa::kNone
  bool uses_stream[kStreamCount] = {};
  Time semaphore[kStreamCount];  // end of a producer to the start of an instruction of this stream
  Time dma_done;                 // last byte to the start of an instruction that waits for it

  std::span<const Use> uses_of(const Op& op) const { return {uses.data() + op.first_use, op.use_count}; }
  std::span<const isa::RegisterId> registers_of(const Op& op) const {
    return {registers.data() + op.first_register, op.register_count};
  }
};

Plan make_plan(const isa::Program& program, const Arch& arch, const ProgramChange& change = {});

}  // namespace kiln::timing
