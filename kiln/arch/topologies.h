// The topologies as data: servers, and how their devices are joined. What a link and a hop take stands in LinkSpec of
// the chip (gen2.h and so on); docs/ranks.md names the source of each figure, and says which are derived.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kiln/arch/arch.h"

namespace kiln {

struct Topology {
  std::string_view name;  // as users ask for it, and LinkSpec::server
  Target target;
  int rows = 1, columns = 1;  // the torus of a server's devices, which are numbered row by row; a switch: none
  int joined_nodes = 1;       // servers whose devices of the same number form a ring; 0: any number, over a switch
  double joined_share = 0;    // a link between joined servers, of one in a server
  double network_bytes_per_ns = 0;  // of a device to servers that no link joins, one direction
};

// In the order of the chips. The first of a chip is the one that is taken unless another is asked for.
std::span<const Topology> all_topologies();
std::string topology_names(std::string_view separator);

// Null when there is none of that name.
const Topology* find_topology(std::string_view name);
// The one that links are of.
const Topology& topology_of(const LinkSpec& links);

// The chip with the links of a topology of its own.
Arch with_topology(Arch arch, const Topology& topology);

}  // namespace kiln
