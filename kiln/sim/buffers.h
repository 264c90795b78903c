// The caller's memory as tensors of a run.
#pragma once

#include <set>
#include <span>
#include <string>

#include "kiln/isa/program.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/machine.h"

namespace kiln::sim {

// Storages over the caller's memory for every tensor that crosses the border. Each needs a buffer of its size.
void bind_buffers(std::span<const isa::Program* const> programs, const Buffers& buffers, SharedTensors& shared);

// Whether everything that is written lies apart from the inputs, in memory too.
bool inputs_stay(std::span<const isa::Program* const> programs, const Buffers& buffers);

// Names of the tensors of the caller that some core may write.
std::set<std::string, std::less<>> written_buffers(std::span<const isa::Program* const> programs);

}  // namespace kiln::sim
