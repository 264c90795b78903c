// Servers and coverage against a picture of every moment.
#include "kiln/timing/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace kiln::timing {
namespace {

constexpr Time kLong = 4000;

class Moments : public testing::Test {
 protected:
  std::mt19937 random{11};
  Time pick(Time lo, Time hi) { return std::uniform_int_distribution<Time>(lo, hi)(random); }
  // The first moment from `earliest` on with `length` free moments; takes them.
  static Time take(std::vector<bool>& busy, Time earliest, Time length) {
    for (Time at = earliest;; ++at) {
      Time n = 0;
      while (n < length && !busy[static_cast<std::size_t>(at + n)]) ++n;
      if (n < length) continue;
      for (Time i = 0; i < length; ++i) busy[static_cast<std::size_t>(at + i)] = true;
      return at;
    }
  }
};

TEST_F(Moments, AServerTakesTheFirstGapThatIsLongEnough) {
  SCOPED_TRACE("seed 11");
  for (int round = 0; round < 50; ++round) {
    Server server;
    std::vector<bool> busy(kLong);
    for (int i = 0; i < 100; ++i) {
      const Time earliest = pick(0, 500), length = pick(1, 9);
      ASSERT_EQ(server.take(earliest, length), take(busy, earliest, length)) << "round " << round << ", request " << i;
    }
  }
}

TEST_F(Moments, ForgettingThePastChangesNothing) {
  SCOPED_TRACE("seed 11");
  Server server;
  std::vector<bool> busy(kLong * 4);
  for (Time floor = 0; floor < 5000; floor += pick(0, 9)) {
    server.forget_before(floor);
    const Time earliest = floor + pick(0, 60), length = pick(1, 6);
    ASSERT_EQ(server.take(earliest, length), take(busy, earliest, length));
  }
}

TEST_F(Moments, APatternThatRepeatsStaysBusy) {
  SCOPED_TRACE("seed 11");
  for (int round = 0; round < 200; ++round) {
    const Time period = pick(20, 40), count = pick(1, 6), before = 3;
    std::vector<bool> pattern(static_cast<std::size_t>(period));
    std::vector<std::pair<Time, Time>> spans;  // of one period
    for (int i = 0; i < 4; ++i) {
      const Time at = pick(0, period - 6);
      if (!pattern[static_cast<std::size_t>(at)]) spans.emplace_back(take(pattern, at, 1), 1);
    }
    Server server, whole;
    const auto fill = [&](Server& s, Time periods) {
      for (Time k = 0; k < periods; ++k) {
        for (const auto& [at, length] : spans) s.take(k * period + at, length);
      }
    };
    fill(server, before);
    const Time floor = pick(0, (before + count) * period - 1);
    server.repeat(before * period, period, count, floor);
    fill(whole, before + count);
    for (int i = 0; i < 20; ++i) {
      const Time earliest = pick(floor, (before + count) * period - 1), length = pick(1, 8);
      ASSERT_EQ(server.take(earliest, length), whole.take(earliest, length)) << "round " << round;
    }
  }
}

TEST_F(Moments, CoverageIsTheUnion) {
  SCOPED_TRACE("seed 11");
  Coverage coverage;
  std::vector<bool> busy(kLong);
  for (int i = 0; i < 300; ++i) {
    const Time begin = pick(0, kLong - 20), end = begin + pick(1, 19);
    coverage.add(begin, end);
    for (Time t = begin; t < end; ++t) busy[static_cast<std::size_t>(t)] = true;
  }
  EXPECT_EQ(coverage.total(), std::count(busy.begin(), busy.end(), true));
}

}  // namespace
}  // namespace kiln::timing
