// The caller's memory as tensors of a run.
#pragma once

#include <set>
#include <span>
#include <string>

#include "kiln/isa/launch.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/machine.h"

namespace kiln::sim {

// Storages over the caller's memory for every tensor that crosses the border. Each needs a buffer of its size.
void bind_buffers(const isa::Launch& launch, const Buffers& buffers, SharedTensors& shared);

// Whether everything that is written lies apart from the inputs and from what else is written, in memory too.
bool inputs_stay(const isa::Launch& launch, std::span<const Buffers> of_ranks);

// Throws Error unless there are buffers for each rank, and what a rank writes is no other one's.
void require_buffers(const isa::Launch& launch, std::span<const Buffers> of_ranks);

// Names of the tensors of the caller that some core may write.
std::set<std::string, std::less<>> written_buffers(const isa::Launch& launch);

}  // namespace kiln::sim
