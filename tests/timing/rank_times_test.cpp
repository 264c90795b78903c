// Time of programs on several ranks: what links take, who is timed, who waits for whom.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kiln/isa/instructions/shared/collective.h"
#include "kiln/isa/text/parse.h"
#include "kiln/timing/rank_kinds.h"
#include "kiln/timing/simulate.h"
#include "tests/error_of.h"

namespace kiln::timing {
namespace {

using isa::Launch;
using isa::Program;

constexpr const char* kAll = "[[0, 1, 2, 3]]";

// `before` activations, then a sum over the ranks of `groups`, then its result stored.
Program summing(const std::string& groups, int before = 1, const std::string& target = "trn2", int sums = 1) {
  std::string text = "kiln 1\nprogram \"p\" target " + target + R"(
tensor x: input hbm float32 [128, 4096]
tensor y: output shared_hbm float32 [128, 4096]
tensor f: sbuf float32 [128, 4096]
)";
  for (int i = 0; i < sums; ++i)
    text += "tensor mine" + std::to_string(i) + ": shared_hbm float32 [128, 4096]\ntensor all" + std::to_string(i) +
            ": shared_hbm float32 [128, 4096]\n";
  text += "dma_copy(dst=f, src=x)\n";
  for (int i = 0; i < before; ++i) text += "activation(dst=f, op=exp, data=f)\n";
  for (int i = 0; i < sums; ++i) text += "dma_copy(dst=mine" + std::to_string(i) + ", src=f)\n";
  for (int i = 0; i < sums; ++i) {
    const std::string n = std::to_string(i);
    text += "all_reduce(srcs=[mine" + n + "], dsts=[all" + n + "], replica_group=" + groups + ", op=add)\n";
  }
  return isa::parse(text + "dma_copy(dst=y, src=all0)\n", "p.kiln");
}

Timeline time_of(const Launch& launch, TimingOptions options = {}) {
  options.reorder = false;
  return simulate(launch, arch(launch.target()), options);
}

std::vector<Event> on_links(const Timeline& t) {
  std::vector<Event> events;
  for (const Event& e : t.events)
    if (t.lanes[e.lane].links) events.push_back(e);
  return events;
}

TEST(RankTimes, RanksThatDoTheSameAreTimedOnce) {
  const Program p = summing(kAll);
  const Timeline one = time_of(p), all = time_of(Launch(p).on_ranks(4));
  EXPECT_EQ(all.total, one.total);
  EXPECT_EQ(all.events.size(), one.events.size());
  ASSERT_EQ(all.ranks.size(), 1u);
  EXPECT_EQ(all.ranks[0].ranks, (std::vector{0, 1, 2, 3}));
  EXPECT_TRUE(std::ranges::any_of(all.lanes, [](const Lane& l) { return l.name == "ranks 0-3 links" && l.busy > 0; }));
  EXPECT_TRUE(std::ranges::any_of(one.lanes, [](const Lane& l) { return l.name == "links" && l.busy > 0; }));
}

// 2 x 3/4 of 2 MiB at an eighth of 128 bytes/ns, and 6 steps of 1.5 us.
TEST(RankTimes, BytesAndSteps) {
  const Timeline t = time_of(Launch(summing(kAll)).on_ranks(4));
  const auto links = on_links(t);
  ASSERT_EQ(links.size(), 1u);
  const double expected = 1.5 * 2097152 / 16 + 6 * 1500;
  EXPECT_NEAR(to_ns(links[0].end - links[0].start), expected, 500);  // and what spreading a DMA takes
}

// The result is there when the collective is, and not before.
TEST(RankTimes, ResultsOfACollectiveAreWaitedFor) {
  const Timeline t = time_of(summing(kAll));
  const Event sum = on_links(t).at(0);
  const Event last = *std::ranges::max_element(t.events, {}, &Event::end);
  EXPECT_GE(last.start, sum.end);
  EXPECT_NE(t.lanes[last.lane].links, true);
}

// Two collectives at once share the links: their bytes follow each other, their steps do not.
TEST(RankTimes, CollectivesShareTheLinks) {
  const auto span = [](int sums) {
    const Timeline t = time_of(Launch(summing(kAll, 1, "trn2", sums)).on_ranks(4));
    const auto links = on_links(t);
    return to_ns(links.back().end - links.front().start);
  };
  const double bytes = 1.5 * 2097152 / 16;
  EXPECT_NEAR(span(2) - span(1), bytes, 0.02 * bytes);
}

TEST(RankTimes, AQuickRankWaitsForASlowOne) {
  const Program quick = summing("[[0, 1]]", 1), slow = summing("[[0, 1]]", 40);
  Launch launch(quick);
  launch.programs = {&quick, &slow};
  launch.ranks = 2;
  const Timeline t = time_of(launch);
  ASSERT_EQ(t.ranks.size(), 2u);
  const auto links = on_links(t);
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].start, links[1].start);
  const auto waits = [&](std::string_view lane) {
    return std::ranges::any_of(links,
                               [&](const Event& e) { return t.lanes[e.lane].name == lane && e.wait == Wait::peer; });
  };
  EXPECT_TRUE(waits("rank 0 links"));
  EXPECT_FALSE(waits("rank 1 links"));
  EXPECT_GT(t.total, time_of(quick).total);
  // The path goes through the work of the slow rank.
  const Time work =
      std::accumulate(t.critical_path.begin(), t.critical_path.end(), Time{0}, [&](Time sum, const auto& s) {
        return sum + (t.lanes[t.events[s.event].lane].name == "rank 1 scalar" ? s.time : 0);
      });
  EXPECT_GT(to_ns(work), 39 * 800);
}

// The devices 0 and 1 of trn2 have the ranks 0 to 7 and 8 to 15.
Launch on_two_devices(const Program& others, const std::vector<std::pair<int, const Program*>>& programs) {
  Launch launch = Launch(others).on_ranks(16);
  for (const auto& [rank, program] : programs) launch.programs[static_cast<std::size_t>(rank)] = program;
  return launch;
}

// Two groups that do not know of each other, over the link between two devices: one after the other. Inside of a device
// every rank has a link of its own.
TEST(RankTimes, DifferentGroupsShareTheLinks) {
  const double bytes = 2097152.0 / 16;  // 2 x 1/2 of 2 MiB
  const Program idle = isa::parse("kiln 1\nprogram \"idle\" target trn2\ntensor x: input hbm float32 [1, 4]\n", "idle");
  const auto starts = [&](const std::string& a, const std::string& b, int second) {
    const Program p = summing(a), q = summing(b);
    const Timeline t = time_of(on_two_devices(idle, {{0, &p}, {second, &p}, {2, &q}, {second + 2, &q}}));
    std::vector<double> at;
    for (const Event& e : on_links(t)) {
      at.push_back(to_ns(e.start));
      EXPECT_NEAR(to_ns(e.end - e.start), bytes + 3000, 500);
    }
    EXPECT_EQ(at.size(), 2u);  // of each kind once
    return at;
  };
  const std::vector<double> shared = starts("[[0, 8]]", "[[2, 10]]", 8), apart = starts("[[0, 1]]", "[[2, 3]]", 1);
  EXPECT_NEAR(shared.at(1) - shared.at(0), bytes, 1);
  EXPECT_NEAR(apart.at(1), apart.at(0), 1);
}

// Groups of one instruction that come at different times do not have each other's bytes.
TEST(RankTimes, GroupsThatMeetApart) {
  const std::string groups = "[[0, 8], [1, 9]]";
  const Program idle = isa::parse("kiln 1\nprogram \"idle\" target trn2\ntensor x: input hbm float32 [1, 4]\n", "idle");
  const Program quick = summing(groups), slow = summing(groups, 400);
  const Timeline t = time_of(on_two_devices(idle, {{0, &quick}, {8, &quick}, {1, &slow}, {9, &slow}}));
  const auto links = on_links(t);
  ASSERT_EQ(links.size(), 2u);
  for (const Event& e : links) EXPECT_NEAR(to_ns(e.end - e.start), 2097152.0 / 16 + 3000, 500);
  EXPECT_GT(links[1].start, links[0].end);
}

// Whom a rank meets tells it apart, whatever its own program is.
TEST(RankTimes, KindsOfRanks) {
  const Program same = summing("[[0, 1], [2, 3]]"), other = summing("[[0, 1], [2, 3]]", 9);
  Launch launch = Launch(same).on_ranks(4);
  EXPECT_EQ(rank_kinds(launch).kind_of, (std::vector{0, 0, 0, 0}));
  launch.programs[3] = &other;
  EXPECT_EQ(rank_kinds(launch).kind_of, (std::vector{0, 0, 1, 2}));
  EXPECT_EQ(ranks_text({0, 1, 2, 4, 7, 8}), "ranks 0-2, 4, 7-8");
  EXPECT_EQ(ranks_text({5}), "rank 5");
}

TEST(RankTimes, RanksThatMissEachOtherAreToldOf) {
  const Program one = summing("[[0, 1]]"), two = summing("[[0, 1]]", 1, "trn2", 2);
  Launch launch(one);
  launch.programs = {&one, &two};
  launch.ranks = 2;
  const Diagnostic error = error_of([&] { time_of(launch); });
  EXPECT_EQ(error.code, "timing.deadlock");
  EXPECT_NE(error.found.find("rank 0 has ended; rank 1 waits in all_reduce on line"), std::string::npos) << error.found;
}

TEST(RankTimes, Topologies) {
  const std::string everyone = [] {
    std::string list = "[[0";
    for (int i = 1; i < 256; ++i) list += ", " + std::to_string(i);
    return list + "]]";
  }();
  const Program p = summing(everyone, 1);
  const Launch launch = Launch(p).on_ranks(256);
  const Time server = time_of(launch).total;
  EXPECT_EQ(time_of(launch, {.topology = "trn2.48xlarge"}).total, server);
  // In both the servers reduce their own first, in as many steps. Between them are two steps, over the network of 15 us
  // and at 25 bytes/ns of a device, in an ultraserver of 1.5 us and at 64, of which an all_reduce gets an eighth. Each
  // of the 8 ranks of a device has 1/128 of the bytes to add there, and sends as much as that in all.
  const Time joined = time_of(launch, {.topology = "trn2-ultraserver"}).total;
  const double bytes = 8 * 2097152 / 128.0, expected = 2 * 13500 + bytes / (25 / 8.0) - bytes / (64 / 8.0);
  EXPECT_NEAR(to_ns(server - joined), expected, 1e-3 * expected);
  EXPECT_EQ(error_of([&] { time_of(launch, {.topology = "trn1.32xlarge"}); }).code, "timing.topology");
  EXPECT_EQ(error_of([&] { time_of(launch, {.topology = "trn9"}); }).code, "timing.topology");
}

// Groups over two servers: all_reduce, reduce_scatter and all_gather as stages in and between
// them, counted by hand.
TEST(RankTimes, StagesInAndBetweenServers) {
  const auto taken = [](const std::string& call, int rows, int sent, const std::string& list) {
    const std::string text = "kiln 1\nprogram \"p\" target trn2\ntensor a: shared_hbm float32 [" +
                             std::to_string(sent) + ", 1024]\ntensor b: shared_hbm float32 [" + std::to_string(rows) +
                             ", 1024]\n" + call + "(srcs=[a], dsts=[b], replica_group=" + list + ")\n";
    const Program p = isa::parse(text, "p.kiln");
    const isa::LinkTime t = isa::link_time(isa::CostQuery(p, p.instructions[0], arch(Target::trn2)));
    return std::pair(t.steps_ns, t.busy_ns);
  };
  const std::string list = "[[0, 1, 128, 129]]";  // two ranks of a device of each of two servers
  constexpr double kMiB = 1 << 20, kLink = 128, kNetwork = 25;
  // Half of 2 MiB inside, there and back; 2 x 1/2 of the other half of both ranks over the network of their device.
  const auto reduced = taken("all_reduce", 512, 512, list + ", op=add");
  EXPECT_DOUBLE_EQ(reduced.first, 2 * 1500 + 2 * 15000);
  EXPECT_DOUBLE_EQ(reduced.second, (2 * kMiB / kLink + 2 * kMiB / kNetwork) / 0.125);
  const auto scattered = taken("reduce_scatter", 128, 512, list + ", collective_dim=0, op=add");
  EXPECT_DOUBLE_EQ(scattered.first, 1500 + 15000);
  EXPECT_DOUBLE_EQ(scattered.second, (kMiB / kLink + kMiB / kNetwork) / 0.6);
  // 1 MiB of each rank to the other server, then those 2 MiB to the other rank.
  const auto gathered = taken("all_gather", 1024, 256, list + ", collective_dim=0");
  EXPECT_DOUBLE_EQ(gathered.first, 15000 + 1500);
  EXPECT_DOUBLE_EQ(gathered.second, (2 * kMiB / kNetwork + 2 * kMiB / kLink) / 0.68);
  // Other places: a ring of four, of which two hops are over the network.
  EXPECT_DOUBLE_EQ(taken("all_reduce", 512, 512, "[[0, 1, 128, 130]], op=add").first, 6 * 15000);
}

// Small tensors: of 64 ranks on 16 devices each sends all others its part, 4 hops far at most, there and back; a ring
// takes 126 steps. Large ones go round the ring.
TEST(RankTimes, SmallTensorsTakeAMesh) {
  const auto taken = [](int columns) {
    std::string list = "[[0";
    for (int i = 1; i < 64; ++i) list += ", " + std::to_string(i);
    const std::string shape = "float32 [64, " + std::to_string(columns) + "]\n";
    const Program p =
        isa::parse("kiln 1\nprogram \"p\" target trn2 lnc 2\ntensor a: shared_hbm " + shape + "tensor b: shared_hbm " +
                       shape + "all_reduce(srcs=[a], dsts=[b], replica_group=" + list + "]], op=add)\n",
                   "p.kiln");
    const isa::LinkTime t = isa::link_time(isa::CostQuery(p, p.instructions[0], arch(Target::trn2)));
    return std::pair(t.steps_ns, t.busy_ns);
  };
  // A part is 2 KiB / 64 there and as much back, between each of 16 ranks of two devices; the busiest link of the torus
  // carries 12 such pairs (LinkLoad, AllPairs), at an eighth of 128 bytes/ns.
  const auto [steps, busy] = taken(8);
  EXPECT_DOUBLE_EQ(steps, 2 * 4 * 1500);
  EXPECT_DOUBLE_EQ(busy, 2 * 64 * 8 * 4 / 64.0 * 16 * 12 / 16);
  EXPECT_DOUBLE_EQ(taken(4096).first, 2 * 63 * 1500);
}

TEST(RankTimes, WhatIfLinks) {
  const Program p = summing(kAll);
  const auto with = [&](const char* change) { return to_ns(time_of(p, {.what_if = {parse_what_if(change)}}).total); };
  const double as_is = to_ns(time_of(p).total), bytes = 1.5 * 2097152 / 16;
  EXPECT_NEAR(as_is - with("link_bandwidth=2x"), bytes / 2, 1);
  EXPECT_NEAR(as_is - with("link_bandwidth=256"), bytes / 2, 1);
  EXPECT_NEAR(as_is - with("link_hop=0.5x"), 6 * 750, 1);
  EXPECT_EQ(with("node_hop=2x"), as_is);
}

// Links are known within a factor of two, and no kernel that was measured is like this one.
TEST(RankTimes, Band) {
  const Timeline t = time_of(Launch(summing(kAll)).on_ranks(4));
  const Time exposed = t.ranks[0].exposed;
  EXPECT_GT(exposed, t.total / 2);
  EXPECT_GE(t.band.high, t.total + exposed);
  EXPECT_LE(t.band.low, t.total - exposed / 2);
  EXPECT_NE(t.band.basis.find("collectives within a factor of 2"), std::string::npos) << t.band.basis;
}

// What no engine hides is exposed.
TEST(RankTimes, ExposedCommunication) {
  const Timeline t = time_of(Launch(summing(kAll)).on_ranks(4));
  EXPECT_EQ(t.ranks[0].exposed, t.ranks[0].links);
  EXPECT_GT(t.ranks[0].work, 0);
}

}  // namespace
}  // namespace kiln::timing
