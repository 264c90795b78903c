// The walk over statements, and what is evaluated and counted along it.
#include "kiln/analysis/statements.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "kiln/analysis/affine.h"
#include "kiln/analysis/engine_counts.h"
#include "kiln/analysis/meetings.h"
#include "kiln/analysis/trips.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/isa/inst_view.h"
#include "tests/programs/random_program.h"

namespace kiln::analysis {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32;

// Statements: declare x, y, a; loop 0 { memset; loop 1 { memset } }; memset.
Program nested() {
  Kernel k("nested");
  const View x = k.input("x", {128, 8}, kF32), y = k.output("y", {128, 8}, kF32), a = k.sbuf({128, 16}, kF32);
  k.loop(4, [&](Index i) {
    k.memset({.dst = a(all, ds(i, 1)), .value = 1});
    k.loop(2, 8, 3, [&](Index j) { k.memset({.dst = a(all, ds(i + j, 1)), .value = 2}); });
  });
  k.dma_copy({.dst = y, .src = x});
  return k.finish();
}

TEST(Statements, LoopsBeforeTheirBodiesAndLeftAfterThem) {
  const Program p = nested();
  std::string walk;
  EXPECT_TRUE(for_each_statement(
      p, kNone,
      [&](const Statement& s) {
        walk += s.is_declaration() ? 'd' : s.is_loop() ? '(' : 'i';
        EXPECT_EQ(s.loop == kNone, s.depth == 0);
        const Block& block = s.loop == kNone ? p.body : p.loops[s.loop].body;
        EXPECT_EQ(block[s.index], s.node);
      },
      [&](const Statement& s) {
        EXPECT_TRUE(s.is_loop());
        walk += ')';
      }));
  EXPECT_EQ(walk, "ddd(i(i))i");
}

TEST(Statements, EndWhereToldTo) {
  const Program p = nested();
  int seen = 0;
  EXPECT_FALSE(for_each_statement(p, [&](const Statement& s) { return ++seen, s.depth < 2; }));
  EXPECT_EQ(seen, 7);
  EXPECT_TRUE(for_each_statement(p, 1, [&](const Statement& s) { return s.depth < 1; })) << "the body of a loop";
  std::vector<InstructionId> ids;
  EXPECT_TRUE(for_each_instruction(p, p.body[3], [&](InstructionId id) { ids.push_back(id); }));
  EXPECT_EQ(ids, (std::vector<InstructionId>{0, 1}));
  EXPECT_FALSE(for_each_instruction(p, p.body[3], [&](InstructionId id) { return id == 1; }));
}

TEST(Affine, IsItsConstantAndWhatItsLoopsAdd) {
  const Program p = nested();
  const Access& inner = p.accesses[p.arg(p.instructions[1], args::memset::dst).index];
  const std::int64_t values[] = {3, 5};
  EXPECT_EQ(value_of(p, inner.offset, values), 8);
  EXPECT_EQ(value_of(p, inner.partition, values), 0);
}

// Over all values of its loops an expression takes its range's ends, and nothing beyond.
TEST(Affine, StaysInItsRange) {
  std::mt19937 random(1);
  for (int seed = 0; seed < 50; ++seed) {
    const Program p = random_program(seed);
    for (const Access& a : p.accesses) {
      const Range range = range_of(p, a.offset);
      for (int k = 0; k < 10; ++k) {
        std::vector<std::int64_t> values;
        bool runs = true;
        for (const Loop& loop : p.loops) {
          const std::int64_t trips = loop.kind == Loop::Kind::static_for ? loop.trip_count() : 1;
          runs = runs && trips > 0;
          const std::int64_t pass = trips > 0 ? static_cast<std::int64_t>(random()) % trips : 0;
          values.push_back(loop.lower.value + pass * loop.step);
        }
        if (!runs) break;
        const std::int64_t value = value_of(p, a.offset, values);
        EXPECT_LE(range.min, value);
        EXPECT_LE(value, range.max);
      }
    }
  }
}

TEST(Trips, AreKnownWhereTheBoundsAre) {
  EXPECT_EQ(known_trips({.lower = {false, 2}, .upper = {false, 8}, .step = 3}), 2);
  EXPECT_EQ(known_trips({.kind = Loop::Kind::dynamic_for, .lower = {false, 2}, .upper = {false, 9}, .step = 3}), 3);
  EXPECT_EQ(known_trips({.kind = Loop::Kind::dynamic_for, .lower = {false, 2}, .upper = {false, 1}}), 0);
  EXPECT_EQ(known_trips({.kind = Loop::Kind::dynamic_for, .lower = {true, 0}, .upper = {false, 1}}), std::nullopt);
  EXPECT_EQ(known_trips({.kind = Loop::Kind::dynamic_while, .reg = 0}), std::nullopt);
}

void execute(const Program& p, const Block& block, const TripCounts& trips, std::vector<std::int64_t>& counts) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::instruction) ++counts[node.index];
    if (node.kind != Node::Kind::loop) continue;
    for (std::int64_t i = 0; i < trips[node.index]; ++i) execute(p, p.loops[node.index].body, trips, counts);
  }
}

TEST(Trips, CountWhatExecutingCounts) {
  std::mt19937 random(2);
  for (int seed = 0; seed < 100; ++seed) {
    const Program p = random_program(seed);
    TripCounts trips;
    for (std::size_t i = 0; i < p.loops.size(); ++i) trips.push_back(static_cast<std::int64_t>(random() % 4));
    std::vector<std::int64_t> counts(p.instructions.size());
    execute(p, p.body, trips, counts);
    EXPECT_EQ(executions(p, trips), counts);
    EXPECT_EQ(executed_instructions(p, p.body, trips), std::accumulate(counts.begin(), counts.end(), 0.0));
  }
}

TEST(EngineCounts, CountABodyOnce) {
  std::string text;
  for_each_engine(count_by_engine(nested(), arch(Target::trn2)),
                  [&](const std::string& engine, std::int64_t count) { text += engine + std::to_string(count) + ' '; });
  EXPECT_EQ(text, "dma1 vector2 ");
}

TEST(Meetings, CountABodyOnce) {
  EXPECT_EQ(meetings(nested()), 0);
  Kernel k("pair");
  k.pair();
  const View data = k.sbuf({128, 8}, kF32);
  k.core_barrier({.data = data, .cores = {0, 1}});
  k.loop(3, [&](Index) { k.core_barrier({.data = data, .cores = {0, 1}}); });
  EXPECT_EQ(meetings(k.program()), 2);
  EXPECT_EQ(meetings(k.program(), k.program().body.back()), 1);
}

}  // namespace
}  // namespace kiln::analysis
