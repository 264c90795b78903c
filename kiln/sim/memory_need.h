// How much memory a run takes, known before it takes any.
#pragma once

#include <cstdint>

#include "kiln/isa/launch.h"

namespace kiln::sim {

// Bytes of the tensors of a run that are alive at once: those of the caller and those that the cores share, by name,
// and what each core declares in HBM besides. On-chip memories come on top; they are small.
double memory_need(const isa::Launch& launch);

// Throws Error (limit.R1) that names the largest tensor when that is more than `max_memory` bytes; 0 is the default of
// kiln/base/memory_limit.h. For whoever makes the buffers of a run: before it does.
void require_memory(const isa::Launch& launch, std::int64_t max_memory);

}  // namespace kiln::sim
