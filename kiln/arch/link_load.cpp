#include "kiln/arch/link_load.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace kiln {
namespace {

// Where a device stands.
struct Seat {
  std::int64_t node, row, column;
};

Seat seat_of(const LinkSpec& links, const Topology& shape, std::int64_t device) {
  const std::int64_t in_node = device % links.devices_per_node;
  return {device / links.devices_per_node, in_node / shape.columns, in_node % shape.columns};
}

// Whether NeuronLink joins two servers.
bool are_joined(const Topology& shape, std::int64_t a, std::int64_t b) {
  return a == b || shape.joined_nodes == 0 || a / shape.joined_nodes == b / shape.joined_nodes;
}

// The way around a ring of `size` from `from` to `to`: +1, -1, or 0 when it is there.
int direction(std::int64_t from, std::int64_t to, std::int64_t size) {
  const std::int64_t ahead = (to - from + size) % size;
  return ahead == 0 ? 0 : 2 * ahead <= size ? 1 : -1;
}

}  // namespace

void LinkLoad::take(std::int64_t at, Port port, double bytes, double bytes_per_ns) {
  busy_ns_[{at, port}] += bytes / bytes_per_ns;
}

void LinkLoad::travelled(int hops, double ns) {
  hops_ = std::max(hops_, hops);
  step_ns_ = std::max(step_ns_, ns);
}

void LinkLoad::cross_torus(std::int64_t from, std::int64_t to, double bytes) {
  Seat at = seat_of(links_, shape_, from);
  const Seat end = seat_of(links_, shape_, to);
  int hops = 0;
  const auto go = [&](std::int64_t Seat::*axis, std::int64_t first, std::int64_t size, Port up, Port down,
                      double bytes_per_ns) {
    while (const int step = direction(at.*axis - first, end.*axis - first, size)) {
      const std::int64_t device = at.node * links_.devices_per_node + at.row * shape_.columns + at.column;
      take(device, step > 0 ? up : down, bytes, bytes_per_ns);
      at.*axis = first + (at.*axis - first + step + size) % size;
      ++hops;
    }
  };
  go(&Seat::column, 0, shape_.columns, east, west, links_.link_bytes_per_ns);
  go(&Seat::row, 0, shape_.rows, south, north, links_.link_bytes_per_ns);
  go(&Seat::node, at.node / shape_.joined_nodes * shape_.joined_nodes, shape_.joined_nodes, next_node, node_before,
     joined_bytes_per_ns());
  travelled(hops, hops * links_.hop_ns);  // between joined servers too: a NeuronLink as any other
}

void LinkLoad::cross_switch(std::int64_t from, std::int64_t to, double bytes) {
  const bool near = from / links_.devices_per_node == to / links_.devices_per_node;
  const double rate = near ? links_.link_bytes_per_ns : joined_bytes_per_ns();
  take(from, near ? to_switch : to_rack, bytes, rate);
  take(to, near ? from_switch : from_rack, bytes, rate);
  travelled(1, links_.hop_ns);
}

void LinkLoad::add_between(std::int64_t from, std::int64_t to, double bytes) {
  if (!are_joined(shape_, from / links_.devices_per_node, to / links_.devices_per_node)) {
    take(from, to_network, bytes, shape_.network_bytes_per_ns);
    take(to, from_network, bytes, shape_.network_bytes_per_ns);
    travelled(1, links_.node_hop_ns);
  } else if (shape_.joined_nodes == 0) {
    cross_switch(from, to, bytes);
  } else {
    cross_torus(from, to, bytes);
  }
}

void LinkLoad::add_inside(std::int64_t rank, double bytes) {
  take(rank, core, bytes, links_.core_bytes_per_ns > 0 ? links_.core_bytes_per_ns : links_.link_bytes_per_ns);
  travelled(1, links_.hop_ns);
}

void LinkLoad::add(std::int64_t from, std::int64_t to, double bytes) {
  if (from == to) return;
  const std::int64_t a = from / per_device_, b = to / per_device_;
  if (a != b) return add_between(a, b, bytes);
  add_inside(from, bytes);
}

void LinkLoad::add_all_pairs(std::span<const std::int64_t> ranks, double bytes) {
  std::map<std::int64_t, std::int64_t> by_device;  // how many ranks
  for (const std::int64_t rank : ranks) ++by_device[rank / per_device_];
  for (const std::int64_t rank : ranks) {
    const std::int64_t others = by_device[rank / per_device_] - 1;
    if (others > 0) add_inside(rank, bytes * static_cast<double>(others));
  }
  for (const auto& [a, in_a] : by_device) {
    for (const auto& [b, in_b] : by_device) {
      if (a != b) add_between(a, b, bytes * static_cast<double>(in_a * in_b));
    }
  }
}

double LinkLoad::busiest_ns() const {
  double most = 0;
  for (const auto& [link, ns] : busy_ns_) most = std::max(most, ns);
  return most;
}

bool are_joined(const LinkSpec& links, std::int64_t ranks_per_device, std::int64_t a, std::int64_t b) {
  const std::int64_t of_node = links.devices_per_node * ranks_per_device;
  return are_joined(topology_of(links), a / of_node, b / of_node);
}

std::vector<std::int64_t> ring_order(const LinkSpec& links, std::int64_t ranks_per_device,
                                     std::span<const std::int64_t> ranks) {
  const Topology& shape = topology_of(links);
  const auto key = [&](std::int64_t rank) {
    const Seat s = seat_of(links, shape, rank / ranks_per_device);
    const std::int64_t column = s.row % 2 ? shape.columns - 1 - s.column : s.column;
    const std::int64_t in_node = s.row * shape.columns + column;
    return std::tuple(s.node, s.node % 2 ? links.devices_per_node - 1 - in_node : in_node, rank);
  };
  std::vector<std::int64_t> order(ranks.begin(), ranks.end());
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace kiln
