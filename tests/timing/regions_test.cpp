// A tensor that is declared again waits for what it would wait for were it new, whatever was touched in it before.
#include "kiln/timing/regions.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/seed.h"

namespace kiln::timing {
namespace {

struct Touch {
  Box box;
  int stream;
  bool reads, writes;
};

class DeclaredAgain : public testing::Test {
 protected:
  std::mt19937_64 random{test::seed()};
  std::int64_t pick(std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  }

  // Tiles of a grid, or ranges that overlap, of (128, 1024).
  Touch touch(bool grid) {
    Touch t{{}, static_cast<int>(pick(4)), pick(2) == 0, false};
    t.box.rank = 2;
    t.box.hi[0] = 128;
    t.box.lo[1] = grid ? 16 * pick(64) : pick(1000);
    t.box.hi[1] = t.box.lo[1] + (grid ? 16 : 1 + pick(pick(4) == 0 ? 200 : 8));
    t.writes = !t.reads || pick(4) == 0;
    return t;
  }
  std::vector<Touch> touches(std::int64_t count, bool grid) {
    std::vector<Touch> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(i > 0 && pick(3) == 0 ? out[pick(i)] : touch(grid));
    return out;
  }
};

using Wanted = std::vector<std::pair<OpId, Wait>>;

Wanted waits(Regions& regions, const Touch& t, OpId op, bool ordered) {
  Waits out;
  regions.touch(t.box, op, t.stream, t.reads, t.writes, ordered, out);
  Wanted all;
  for (const Dependency& d : out) all.emplace_back(d.op, d.wait);
  return all;
}

TEST_F(DeclaredAgain, IsAsNew) {
  for (int round = 0; round < 60; ++round) {
    const bool grid = round % 3 == 0, ordered = round % 2 == 0;
    Regions again;
    OpId op = 0;
    std::vector<Touch> all = touches(1 + pick(round % 5 == 0 ? 300 : 40), grid);
    for (int pass = 0; pass < 6; ++pass) {
      Regions fresh;
      for (const Touch& t : all) {
        ASSERT_EQ(waits(again, t, op, ordered), waits(fresh, t, op, ordered))
            << "KILN_SEED=" << test::seed() << " round " << round << " pass " << pass;
        ++op;
      }
      again.clear();
      // The same once more, the beginning of it, or something else from some place on.
      if (pass % 3 == 1) all.resize(1 + pick(static_cast<std::int64_t>(all.size())));
      if (pass % 3 == 2) {
        for (const Touch& t : touches(20, grid && pass != 5)) all.insert(all.begin() + pick(std::ssize(all) + 1), t);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::timing
