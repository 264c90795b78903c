#include "kiln/arch/topologies.h"

#include <algorithm>

namespace kiln {
namespace {

constexpr Topology kTopologies[] = {
    {.name = "trn1.32xlarge",
     .target = Target::trn1,
     .rows = 4,
     .columns = 4,
     .network_bytes_per_ns = 6.25},  // derived: 800 Gbit/s of EFA for 16 chips
    {.name = "trn2.48xlarge",
     .target = Target::trn2,
     .rows = 4,
     .columns = 4,
     .network_bytes_per_ns = 25},  // 200 Gbit/s of EFA for each chip
    {.name = "trn2-ultraserver",
     .target = Target::trn2,
     .rows = 4,
     .columns = 4,
     .joined_nodes = 4,
     .joined_share = 64.0 / 128.0,  // derived: 256 GB/s per chip between instances, two neighbours, two directions
     .network_bytes_per_ns = 25},
    {.name = "trn3",
     .target = Target::trn3,
     .joined_nodes = 0,
     .joined_share = 320.0 / 256.0},  // between the servers of a rack
};

}  // namespace

std::span<const Topology> all_topologies() { return kTopologies; }

std::string topology_names(std::string_view separator) {
  std::string text;
  for (const Topology& t : kTopologies) text.append(text.empty() ? "" : separator).append(t.name);
  return text;
}

const Topology* find_topology(std::string_view name) {
  const auto* found = std::ranges::find(kTopologies, name, &Topology::name);
  return found == std::end(kTopologies) ? nullptr : found;
}

// Chips that tests make up have links of no server: every device beside every other, as with a switch.
const Topology& topology_of(const LinkSpec& links) {
  static constexpr Topology none{.name = "", .target = Target::trn2, .joined_nodes = 0, .joined_share = 1};
  const Topology* found = find_topology(links.server);
  return found ? *found : none;
}

Arch with_topology(Arch arch, const Topology& topology) {
  arch.links.server = topology.name.data();
  return arch;
}

}  // namespace kiln
