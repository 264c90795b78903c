// Topologies: the table, and what bytes between ranks ask of the links, counted by hand.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "kiln/arch/link_load.h"

namespace kiln {
namespace {

LinkSpec links_of(std::string_view name) {
  const Topology* t = find_topology(name);
  return with_topology(arch(t->target), *t).links;
}

std::vector<std::int64_t> ranks(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(Topologies, AreFoundByName) {
  EXPECT_EQ(topology_names("|"), "trn1.32xlarge|trn2.48xlarge|trn2-ultraserver|trn3");
  std::set<Target> seen;
  for (const Topology& t : all_topologies()) {
    EXPECT_EQ(find_topology(t.name), &t);
    EXPECT_EQ(&topology_of(with_topology(arch(t.target), t).links), &t);
    if (t.joined_nodes > 0) {
      EXPECT_EQ(t.rows * t.columns, arch(t.target).links.devices_per_node) << t.name;
    }
    if (seen.insert(t.target).second) {
      EXPECT_EQ(&topology_of(arch(t.target).links), &t) << "the first is the chip's";
    }
  }
  EXPECT_EQ(seen.size(), all_archs().size());
  EXPECT_EQ(find_topology("trn2"), nullptr);
}

TEST(LinkLoad, InADevice) {
  const LinkSpec links = links_of("trn2.48xlarge");
  LinkLoad load(links, 4);
  load.add(0, 3, 1280);
  EXPECT_DOUBLE_EQ(load.busiest_ns(), 1280 / links.link_bytes_per_ns);
  EXPECT_DOUBLE_EQ(load.step_ns(), links.hop_ns);
  load.add(1, 1, 1e9);  // nothing moves
  EXPECT_DOUBLE_EQ(load.busiest_ns(), 1280 / links.link_bytes_per_ns);
}

// Device 5 is row 1, column 1 of a torus of 4 x 4; device 15 is row 3, column 3, so one step to the left and one up.
TEST(LinkLoad, TorusTakesTheShorterWay) {
  const LinkSpec links = links_of("trn2.48xlarge");
  for (const auto& [from, to, hops] : {std::tuple{0, 5, 2}, {0, 15, 2}, {0, 10, 4}, {0, 3, 1}, {0, 12, 1}, {0, 1, 1}}) {
    LinkLoad load(links, 4);
    load.add(from * 4, to * 4, 128);
    EXPECT_EQ(load.hops(), hops) << from << " to " << to;
    EXPECT_DOUBLE_EQ(load.step_ns(), hops * links.hop_ns);
    EXPECT_DOUBLE_EQ(load.busiest_ns(), 1);
  }
}

// Both go over the link from device 0 to device 1.
TEST(LinkLoad, SharedLinks) {
  LinkLoad load(links_of("trn2.48xlarge"), 4);
  load.add(0, 4, 128);
  load.add(1, 5, 256);
  EXPECT_DOUBLE_EQ(load.busiest_ns(), 3);
  load.add(4, 0, 256);  // the other direction
  EXPECT_DOUBLE_EQ(load.busiest_ns(), 3);
}

TEST(LinkLoad, NodesAreFar) {
  const LinkSpec alone = links_of("trn2.48xlarge"), joined = links_of("trn2-ultraserver");
  const std::int64_t node = alone.ranks_per_node(2);
  LinkLoad network(alone, 4), ring(joined, 4), around(joined, 4), beyond(joined, 4);
  network.add(0, node, 64);
  EXPECT_DOUBLE_EQ(network.step_ns(), alone.node_hop_ns);
  EXPECT_DOUBLE_EQ(network.busiest_ns(), 64 / 25.0) << "200 Gbit/s for each chip";
  network.add(5 * 4, node, 64);  // from another device to the same one
  EXPECT_DOUBLE_EQ(network.busiest_ns(), 2 * 64 / 25.0);
  ring.add(0, node, 64);
  EXPECT_DOUBLE_EQ(ring.step_ns(), joined.hop_ns);
  EXPECT_DOUBLE_EQ(ring.busiest_ns(), 1) << "64 GB/s between instances";
  around.add(0, 3 * node, 64);
  EXPECT_EQ(around.hops(), 1);
  beyond.add(0, 4 * node, 64);
  EXPECT_DOUBLE_EQ(beyond.step_ns(), joined.node_hop_ns);
}

// A ring through all ranks never takes two hops, and no link carries two of its edges.
TEST(LinkLoad, RingsGoFromNeighbourToNeighbour) {
  for (const auto& [name, nodes] : {std::pair{"trn1.32xlarge", 1}, {"trn2.48xlarge", 1}, {"trn2-ultraserver", 4}}) {
    const LinkSpec links = links_of(name);
    const std::int64_t per_device = links.ranks_per_device(1);
    const std::vector<std::int64_t> ring = ring_order(links, per_device, ranks(nodes * links.ranks_per_node(1)));
    LinkLoad load(links, per_device);
    for (std::size_t i = 0; i < ring.size(); ++i) load.add(ring[i], ring[(i + 1) % ring.size()], 1);
    EXPECT_EQ(load.hops(), 1) << name;
    EXPECT_LE(load.busiest_ns() * links.link_bytes_per_ns, nodes > 1 ? 2 : 1) << name;
    EXPECT_EQ(std::set(ring.begin(), ring.end()).size(), ring.size());
  }
}

// Each of the 4 x 4 devices sends 1 to each other. The distances along an axis of four are 0, 1, 2, 1, so a device has
// 4 x 4 hops along rows, 64 x 4 in all, of which each of the 32 links along rows takes 8 in the mean. Ties go one way.
TEST(LinkLoad, AllPairs) {
  const LinkSpec links = links_of("trn2.48xlarge");
  LinkLoad one(links, 1), two(links, 2);
  one.add_all_pairs(ranks(16), 1);
  EXPECT_DOUBLE_EQ(one.busiest_ns() * links.link_bytes_per_ns, 12);
  EXPECT_EQ(one.hops(), 4);
  two.add_all_pairs(ranks(32), 1);  // two ranks in each
  EXPECT_DOUBLE_EQ(two.busiest_ns() * links.link_bytes_per_ns, 4 * 12);
  LinkLoad inside(links, 4);
  inside.add_all_pairs(ranks(4), 1);
  EXPECT_DOUBLE_EQ(inside.busiest_ns() * links.link_bytes_per_ns, 3);
}

// A switch: what leaves or reaches a device, whoever it comes from.
TEST(LinkLoad, Switch) {
  const LinkSpec links = links_of("trn3");
  LinkLoad near(links, 4), far(links, 4);
  near.add_all_pairs(ranks(16), 1);  // four devices: 4 ranks send to 12 outside
  EXPECT_DOUBLE_EQ(near.busiest_ns() * links.link_bytes_per_ns, 48);
  EXPECT_EQ(near.hops(), 1);
  far.add(0, 16, 320);
  EXPECT_DOUBLE_EQ(far.busiest_ns(), 1) << "320 GB/s between the servers of a rack";
}

}  // namespace
}  // namespace kiln
