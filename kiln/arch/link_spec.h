// How the chips of a server are joined: what collectives travel over. docs/ranks.md names the source of each figure.
#pragma once

#include <cstdint>

namespace kiln {

// How a collective goes: around a ring with sums on the way, or bytes only; to all at once; to a neighbour.
enum class Route : std::uint8_t { ring_all_reduce, ring_reduce_scatter, ring_gather, mesh, neighbour };
inline constexpr int kRouteCount = 5;
inline constexpr int kGroupSizes = 8;

struct LinkSpec {
  const char* server = "";   // the instance that the figures are of
  int devices_per_node = 0;  // chips of a server
  int cores_per_device = 0;  // physical
  bool has_switch = false;   // a NeuronSwitch joins all devices; else each has its neighbours
  // One direction. Zero: no figure is public, and nothing that depends on it is told.
  double core_bytes_per_ns = 0;                // between cores of a device; 0: as between devices
  double link_bytes_per_ns = 0;                // between neighbouring devices
  double rate[kRouteCount] = {1, 1, 1, 1, 1};  // share of the link that a collective has been seen to use
  double hop_ns = 0;                           // a step inside a node
  double node_hop_ns = 0;                      // a step between nodes
  int group_sizes[kGroupSizes] = {};           // how many ranks of a node groups have; all 0: nothing is known

  constexpr std::int64_t ranks_per_device(int lnc) const { return cores_per_device / lnc; }
  constexpr std::int64_t ranks_per_node(int lnc) const { return devices_per_node * ranks_per_device(lnc); }
};

}  // namespace kiln
