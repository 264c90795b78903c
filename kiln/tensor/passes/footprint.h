// Footprints: operands of a region that are the same storage, a little apart, such as the shifted slices of a stencil.
// What they reach on one partition is loaded once, as one run; each of them is a view of it.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::tensor {

class Graph;
struct Layout;

struct Footprint {
  std::int64_t offset = 0;  // of its first element, as in Leaf
  std::int64_t span = 0;    // elements on a partition
  std::vector<int> loads;   // that are views of it
};

// At least two loads each, and no more elements than these have by themselves, or hardly more; or one that wants every
// second, third or fourth element.
std::vector<Footprint> footprints(const Graph& graph, const Layout& layout);

}  // namespace kiln::tensor
