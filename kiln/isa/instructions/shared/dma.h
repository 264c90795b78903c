// What the DMA instructions share.
#pragma once

#include "kiln/base/function_ref.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa {

// Bytes and descriptors of a transfer: the larger side decides both. `rate` is the share of the copy rate.
Cost dma_cost(const CostQuery& q, const Access& dst, std::span<const Access> srcs, double rate = 1);

// Whether a hardware DGE may make the descriptors, on a chip that has one: no conversions, transposes of few
// shapes, no arithmetic.
bool fits_hardware_dge(const InstView& v, const Arch& arch);

// dst.flat[i] from flat[i] of every source; elements whose row any side leaves out stay as they are.
void track_transfer(Track& t, int dst, int srcs);

// Two rows of a scattered tile that are the same row and `differ`, or {-1, -1}. Rows left out do not count.
struct Tile;
struct RowPair {
  std::int64_t first, second;
};
RowPair find_duplicate_row(const Tile& scattered, FunctionRef<bool(std::int64_t, std::int64_t)> differ);

}  // namespace kiln::isa
