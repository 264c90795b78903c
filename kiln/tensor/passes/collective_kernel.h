// The kernels that collectives become: copies to tensors that ranks may exchange, the instruction, and a copy back.
#pragma once

#include <memory>
#include <optional>

#include "kiln/isa/builder/builder.h"
#include "kiln/isa/program.h"
#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/passes/share.h"

namespace kiln::tensor {

// What ranks exchange: of matrices, along the first dimension.
struct Exchange {
  OpCode moving;
  RankGroups groups;
  AluOp op = AluOp::add;  // of reductions
  DType dtype;
  Shape before, after;
  // It comes again, in a loop: ranks tell each other that they have taken what they received.
  bool repeats = false;
  int channels = 1;  // of a step around a ring: rows are shared among them

  // The second source of a step that reduces.
  bool has_two() const { return moving == OpCode::collective_permute_implicit_reduce; }
};

// One core of a pair: the tensors that ranks exchange are shared, each core brings a half, both enter, and the bytes
// cross once.
struct PairPart {
  int core;
  Share brought;  // whole: the core picks its half
  Share wanted;
};

std::shared_ptr<const isa::Program> collective_kernel(const Exchange& exchange, Target target,
                                                      const std::optional<PairPart>& pair = {});

// Whoever has got what this gathers of a rank knows that it has done what it has read and written of the views, one
// element of each (run.R18). `core` is given where both cores of a pair enter together.
void tell_done(isa::Kernel& k, const std::vector<isa::View>& ones, const RankGroups& groups, Memory memory,
               std::optional<int> core);

// Whether an op calls such a kernel, of one core, and what it exchanges.
bool is_collective_kernel(const Op& op);
Exchange exchange_of(const isa::Program& kernel);

}  // namespace kiln::tensor
