// Tile: how many rows a region has and how many of them follow each other on one partition, by estimated time. The
// timing model chooses among the best estimates.
#pragma once

#include "kiln/tensor/passes/layout.h"

namespace kiln::tensor {

struct Tiling {
  LayoutOptions options;
  double estimate_ns = 0;
};

// In no order.
std::vector<std::int64_t> divisors(std::int64_t n);

// The best first, at most `most`. `sbuf_share`: of a partition's bytes, what the tiles of a pass should take at most by
// the estimate; a region with many values that live together needs a small one.
std::vector<Tiling> tilings(const Graph& graph, const Fusion& fusion, int region, const Arch& arch, std::size_t most,
                            double sbuf_share);

}  // namespace kiln::tensor
