// LinkLoad: what bytes between ranks ask of the links of a topology, all at once: how long the busiest link is taken,
// and how long the farthest of them is on its way.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kiln/arch/topologies.h"

namespace kiln {

// A link by where it begins: the device or rank, and which of its ports.
enum class LinkPort : std::uint8_t {
  east,
  west,
  south,
  north,
  next_node,
  node_before,
  core,
  to_network,
  from_network,
  to_switch,
  from_switch,
  to_rack,
  from_rack
};
using Link = std::pair<std::int64_t, LinkPort>;

class LinkLoad {
 public:
  // `ranks_per_device`: ranks are numbered device by device.
  LinkLoad(const LinkSpec& links, std::int64_t ranks_per_device)
      : links_(links), shape_(topology_of(links)), per_device_(ranks_per_device) {}

  void add(std::int64_t from, std::int64_t to, double bytes);  // ranks
  // Every rank of the list sends `bytes` to each other one.
  void add_all_pairs(std::span<const std::int64_t> ranks, double bytes);

  double busiest_ns() const;  // at the links' full rate
  const std::map<Link, double>& busy_ns() const { return busy_ns_; }
  double step_ns() const { return step_ns_; }  // of the farthest
  int hops() const { return hops_; }

 private:
  using Port = LinkPort;
  using enum LinkPort;
  void take(std::int64_t at, Port port, double bytes, double bytes_per_ns);
  void add_inside(std::int64_t rank, double bytes);                    // to others of its device
  void add_between(std::int64_t from, std::int64_t to, double bytes);  // devices
  void cross_torus(std::int64_t from, std::int64_t to, double bytes);
  void cross_switch(std::int64_t from, std::int64_t to, double bytes);
  void travelled(int hops, double ns);

  double joined_bytes_per_ns() const { return shape_.joined_share * links_.link_bytes_per_ns; }

  const LinkSpec links_;
  const Topology& shape_;
  std::int64_t per_device_;
  std::map<Link, double> busy_ns_;
  double step_ns_ = 0;
  int hops_ = 0;
};

// Whether NeuronLinks join the servers of two ranks.
bool are_joined(const LinkSpec& links, std::int64_t ranks_per_device, std::int64_t a, std::int64_t b);

// The ranks in the order of a ring that goes from device to neighbouring device where it can: through the rows of a
// server there and back, and through joined servers likewise.
std::vector<std::int64_t> ring_order(const LinkSpec& links, std::int64_t ranks_per_device,
                                     std::span<const std::int64_t> ranks);

}  // namespace kiln
