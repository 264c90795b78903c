// The kernels of numbers of ranks. A register with a rank is not stored (rank_id.R1): it picks its number from a table,
// which is an argument of as many int32 as there are ranks.
#pragma once

#include <memory>
#include <optional>

#include "kiln/isa/program.h"
#include "kiln/tensor/ir/collective.h"

namespace kiln::tensor {

std::shared_ptr<const isa::Program> rank_id_kernel(std::int64_t ranks, Target target);

// The rank whose data is here after a step around a ring: one that is known, or of this dtype in the first argument.
struct RingStep {
  RankGroups groups;
  std::int64_t channel;
  std::optional<std::int64_t> known;
  DType dtype = DType::int32;
};
std::int64_t ranks_in_table(const RingStep& step);
std::shared_ptr<const isa::Program> processing_rank_kernel(const RingStep& step, Target target);

}  // namespace kiln::tensor
