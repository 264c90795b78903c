// Events keep what they are given, whatever has room in few bytes and whatever has not.
#include "kiln/timing/events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/seed.h"

namespace kiln::timing {
namespace {

bool same(const Event& a, const Event& b) {
  return a.inst == b.inst && a.because == b.because && a.lane == b.lane && a.kind == b.kind && a.wait == b.wait &&
         a.issue == b.issue && a.start == b.start && a.end == b.end && a.occupied == b.occupied &&
         a.repeats == b.repeats && a.hbm_bytes == b.hbm_bytes;
}

class RandomEvents : public testing::Test {
 protected:
  std::uint64_t seed = test::seed();
  std::mt19937_64 random{seed};
  // A span of up to 2^`bits` ps, mostly far from it: about the widths of what is kept.
  Time span(int bits) {
    const int few = std::uniform_int_distribution<int>(0, bits)(random);
    return std::uniform_int_distribution<Time>(0, Time{1} << few)(random);
  }
  bool one_in(int n) { return std::uniform_int_distribution<int>(1, n)(random) == 1; }
  Event event() {
    Event e{.inst = static_cast<isa::InstructionId>(random()), .lane = static_cast<LaneId>(random())};
    if (!one_in(3)) e.because = static_cast<EventId>(random() % 1000);
    e.kind = static_cast<Kind>(random() % 3);
    e.wait = static_cast<Wait>(random() % kWaitCount);
    e.start = span(60);
    e.issue = one_in(20) ? e.start + span(40) : e.start - span(42);
    e.end = e.start + span(34);
    e.occupied = e.kind == Kind::transfer && !one_in(10) ? e.end - e.start : span(34);
    if (e.kind == Kind::transfer || one_in(20)) e.hbm_bytes = static_cast<double>(span(36)) / (one_in(10) ? 4 : 1);
    if (one_in(50)) e.repeats = span(40);
    return e;
  }
};

TEST_F(RandomEvents, AreKeptAsTheyAre) {
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(fmt::format("KILN_SEED={} round {}", seed, round));
    Events kept;
    std::vector<Event> expected;
    for (int i = 0; i < 500; ++i) {
      expected.push_back(event());
      kept.push_back(expected.back());
      if (!one_in(5)) continue;
      const std::size_t id = random() % expected.size();
      expected[id] = event();
      kept.replace(id, expected[id]);
    }
    Events more;
    more.push_back(event());
    more.append(kept, 7, 100);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(same(kept[i], expected[i])) << i;
      ASSERT_EQ(kept.start_of(i), expected[i].start) << i;
      ASSERT_EQ(kept.end_of(i), expected[i].end) << i;
      Event moved = expected[i];
      moved.lane = static_cast<LaneId>(moved.lane + 7);
      if (moved.because != isa::kNone) moved.because += 100;
      ASSERT_TRUE(same(more[i + 1], moved)) << i;
    }
    kept.shorten(300);
    ASSERT_EQ(kept.size(), 300u);
    for (std::size_t i = 0; i < 300; ++i) {
      if (expected[i].because >= 300) expected[i].because = isa::kNone;
      ASSERT_TRUE(same(kept[i], expected[i])) << i;
    }
  }
}

}  // namespace
}  // namespace kiln::timing
