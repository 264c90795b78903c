#include "kiln/tensor/passes/rank_kernel.h"

#include <algorithm>

#include "kiln/isa/builder/builder.h"

namespace kiln::tensor {
namespace {

std::shared_ptr<const isa::Program> picked(isa::Kernel& k, isa::Reg rank, std::int64_t ranks) {
  const isa::View table = k.input("table", {ranks}, DType::int32), y = k.output("y", {1}, DType::int32);
  k.dma_copy({.dst = y, .src = table.slice(0, 0, 1).scalar_offset(rank, 1)});
  return std::make_shared<const isa::Program>(k.finish());
}

}  // namespace

std::shared_ptr<const isa::Program> rank_id_kernel(std::int64_t ranks, Target target) {
  isa::Kernel k("rank_id", target);
  const isa::Reg rank = k.reg();
  k.rank_id({.dst = rank});
  return picked(k, rank, ranks);
}

std::int64_t ranks_in_table(const RingStep& step) {
  std::int64_t most = 0;
  for (const Ints& list : step.groups) most = std::max(most, std::ranges::max(list));
  return most + 1;
}

std::shared_ptr<const isa::Program> processing_rank_kernel(const RingStep& step, Target target) {
  isa::Kernel k("processing_rank", target);
  const isa::Reg rank = k.reg();
  isa::IntOrReg at = step.known.value_or(0);
  if (!step.known) {
    const isa::Reg loaded = k.reg();
    k.register_load({.dst = loaded, .src = k.input("step", {1}, step.dtype)});
    at = loaded;
  }
  k.collective_permute_implicit_current_processing_rank_id(
      {.dst = rank, .iteration_id = at, .replica_group = step.groups, .channel_id = step.channel});
  return picked(k, rank, ranks_in_table(step));
}

}  // namespace kiln::tensor
