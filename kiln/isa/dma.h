// What the DMA instructions share.
#pragma once

#include "kiln/isa/cost.h"

namespace kiln::isa {

// Bytes and descriptors of a transfer: the larger side decides both. `rate` is the share of the copy rate.
Cost dma_cost(const CostQuery& q, const Access& dst, std::span<const Access> srcs, double rate = 1);

}  // namespace kiln::isa
