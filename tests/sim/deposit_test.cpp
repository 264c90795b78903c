// Tiles that are computed where the output lies that they are stored to: nobody can tell.
#include <random>

#include "tests/seed.h"
#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

constexpr std::int64_t kColumns = 512, kTile = 128 * kColumns;
const RunOptions kWays[] = {{.threads = 1}, {.threads = 4}, {.threads = 1, .plain = true}};

View tile(Kernel& k) { return k.sbuf({128, kColumns}, DType::float32); }

void add(Kernel& k, const View& to, const View& from, double number) {
  k.tensor_scalar({.dst = to, .data = from, .op0 = AluOp::add, .operand0 = number});
}

// Tiles follow each other in y; each is written twice before it is stored.
TEST(Deposit, ALoopStoresItsTiles) {
  constexpr std::int64_t kSteps = 12;
  Kernel k("loop");
  const View x = k.input("x", {kSteps, 128, kColumns}, DType::float32),
             y = k.output("y", {kSteps, 128, kColumns}, DType::float32);
  k.loop(kSteps, [&](Index i) {
    const View in = tile(k), out = tile(k);
    k.dma_copy({.dst = in, .src = x(i)});
    add(k, out, in, 1);
    add(k, out, out, 2);
    k.dma_copy({.dst = y(i), .src = out});
  });
  KernelRun run(k);
  Floats wanted = counting(kSteps * kTile);
  run.set("x", wanted);
  for (float& v : wanted) v += 3;
  for (const RunOptions& way : kWays) {
    run.run(way);
    ASSERT_EQ(run.get("y"), wanted) << way.threads;
  }
}

TEST(Deposit, WhatATileBecomesAfterItsStoreStaysInTheTile) {
  Kernel k("after");
  const View x = k.input("x", {128, kColumns}, DType::float32), y = k.output("y", {2, 128, kColumns}, DType::float32);
  const View in = tile(k), out = tile(k);
  k.dma_copy({.dst = in, .src = x});
  add(k, out, in, 1);
  k.dma_copy({.dst = y(0), .src = out});
  add(k, out, out, 1);
  k.dma_copy({.dst = y(1), .src = out});
  KernelRun run(k);
  const Floats in_values = counting(kTile);
  run.set("x", in_values);
  for (const RunOptions& way : kWays) {
    run.run(way);
    const Floats got = run.get("y");
    for (std::int64_t i = 0; i < kTile; ++i) {
      ASSERT_EQ(got[i], in_values[i] + 1) << i;
      ASSERT_EQ(got[kTile + i], in_values[i] + 2) << i;
    }
  }
}

// The second tile is alive while the first is stored to the same place, and a third reads the place between.
TEST(Deposit, StoresToOnePlaceKeepTheirOrder) {
  Kernel k("order");
  const View x = k.input("x", {128, kColumns}, DType::float32), y = k.output("y", {128, kColumns}, DType::float32),
             z = k.output("z", {128, kColumns}, DType::float32);
  const View in = tile(k), first = tile(k), second = tile(k);
  k.dma_copy({.dst = in, .src = x});
  add(k, first, in, 1);
  add(k, second, in, 2);
  k.dma_copy({.dst = y, .src = first});
  const View between = tile(k), third = tile(k);
  k.dma_copy({.dst = between, .src = y});
  k.dma_copy({.dst = y, .src = second});
  add(k, third, between, 10);
  k.dma_copy({.dst = z, .src = third});
  const View last = tile(k);
  add(k, last, in, 5);
  k.dma_copy({.dst = y, .src = last});
  KernelRun run(k);
  const Floats in_values = counting(kTile);
  run.set("x", in_values);
  for (const RunOptions& way : kWays) {
    run.run(way);
    const Floats y_values = run.get("y"), z_values = run.get("z");
    for (std::int64_t i = 0; i < kTile; ++i) {
      ASSERT_EQ(y_values[i], in_values[i] + 5) << i;
      ASSERT_EQ(z_values[i], in_values[i] + 11) << i;
    }
  }
}

// The memset may take longer than everything after it, so it is tried often.
TEST(Deposit, ATileThatIsOnlyLoadedIsStored) {
  Kernel k("copy");
  const View x = k.input("x", {128, kColumns}, DType::float32), y = k.output("y", {128, kColumns}, DType::float32);
  const View t = tile(k);
  k.memset({.dst = t, .value = 7});
  k.dma_copy({.dst = t, .src = x});
  k.dma_copy({.dst = y, .src = t});
  KernelRun run(k);
  const Floats in = counting(kTile);
  run.set("x", in);
  for (int round = 0; round < 50; ++round) {
    for (const RunOptions& way : kWays) {
      run.run(way);
      ASSERT_EQ(run.get("y"), in) << way.threads << " round " << round;
    }
  }
}

TEST(Deposit, BytesThatWereNeverWrittenAreFound) {
  Kernel k("half");
  const View y = k.output("y", {128, kColumns}, DType::float32);
  const View t = tile(k);
  k.memset({.dst = t(all, ds(0, kColumns - 1)), .value = 1});
  k.dma_copy({.dst = y, .src = t});
  KernelRun run(k);
  for (const RunOptions& way : kWays) EXPECT_EQ(run.error(way).code, "run.R1") << way.threads;
}

// Tiles are computed, changed, stored to places that others were stored to, loaded from there and stored
// again.
isa::Program random_program(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  Kernel k("random");
  const View x = k.input("x", {4, 128, kColumns}, DType::float32);
  const View outputs[] = {k.output("y", {4, 128, kColumns}, DType::float32),
                          k.output("z", {4, 128, kColumns}, DType::float32)};
  for (const View& out : outputs) {
    const View zero = tile(k);
    k.memset({.dst = zero, .value = 0});
    for (int i = 0; i < 4; ++i) k.dma_copy({.dst = out(i), .src = zero});
  }
  std::vector<View> tiles;
  for (int step = 0; step < 40; ++step) {
    if (tiles.size() < 2 || below(3) == 0) {
      tiles.push_back(tile(k));
      const View& from = below(2) ? x : outputs[below(2)];
      k.dma_copy({.dst = tiles.back(), .src = from(below(4))});
      continue;
    }
    const View &a = tiles[below(tiles.size())], &b = tiles[below(tiles.size())];
    switch (below(4)) {
      case 0:
        add(k, a, b, below(9));
        break;
      case 1:
        tiles.push_back(tile(k));
        add(k, tiles.back(), tiles[below(tiles.size() - 1)], below(9));
        break;
      default:
        k.dma_copy({.dst = outputs[below(2)](below(4)), .src = a});
        if (below(2)) tiles.erase(tiles.begin() + below(tiles.size()));
    }
  }
  return k.finish();
}

TEST(Deposit, RandomProgramsGiveWhatTheDefinitionGives) {
  const auto seed = static_cast<unsigned>(test::seed());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Floats in = counting(4 * kTile);
  for (int round = 0; round < 40; ++round) {
    const isa::Program program = random_program(random);
    std::map<std::string, Floats> wanted;
    for (const RunOptions& way : {kWays[2], kWays[0], kWays[1]}) {
      std::map<std::string, Floats> arrays = {{"x", in}, {"y", Floats(4 * kTile, -1)}, {"z", Floats(4 * kTile, -1)}};
      Buffers buffers;
      for (auto& [name, values] : arrays) buffers[name] = {values.data(), values.size() * sizeof(float)};
      run(program, arch(program.target), buffers, way);
      if (way.plain) wanted = arrays;
      for (const auto& [name, values] : arrays) ASSERT_EQ(values, wanted[name]) << name << " round " << round;
    }
  }
}

// A tile that is loaded from an input, changed and stored back, while another one still has what was there before.
TEST(Deposit, ATileIsChangedWhereItsInputLies) {
  constexpr std::int64_t kSteps = 3;
  Kernel k("update");
  const View x = k.inout("x", {kSteps, 128, kColumns}, DType::float32),
             y = k.output("y", {kSteps, 128, kColumns}, DType::float32);
  k.loop(kSteps, [&](Index i) {
    const View before = tile(k), changed = tile(k), sum = tile(k);
    k.dma_copy({.dst = before, .src = x(i)});
    k.dma_copy({.dst = changed, .src = x(i)});
    add(k, changed, changed, 1);
    add(k, changed, changed, 2);
    k.tensor_tensor({.dst = sum, .data1 = changed, .data2 = before, .op = AluOp::add});
    k.dma_copy({.dst = x(i), .src = changed});
    k.dma_copy({.dst = y(i), .src = sum});
  });
  KernelRun run(k);
  const Floats given = counting(kSteps * kTile);
  for (const RunOptions& way : kWays) {
    run.set("x", given).run(way);
    const Floats x_after = run.get("x"), sums = run.get("y");
    for (std::int64_t i = 0; i < kSteps * kTile; ++i) {
      ASSERT_EQ(x_after[i], given[i] + 3) << i;
      ASSERT_EQ(sums[i], 2 * given[i] + 3) << i;
    }
  }
}

// Tiles with what some part of z was, and parts of z that are loaded, changed by them and stored to the same part or to
// another one.
isa::Program random_updates(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  Kernel k("updates");
  const View y = k.output("y", {4, 128, kColumns}, DType::float32),
             z = k.inout("z", {4, 128, kColumns}, DType::float32);
  std::vector<View> tiles;
  for (int i = 0; i < 4; ++i) {
    k.dma_copy({.dst = tiles.emplace_back(tile(k)), .src = z(i)});
    k.dma_copy({.dst = y(i), .src = tiles.back()});
  }
  for (int step = 0; step < 12; ++step) {
    const int part = below(4);
    if (below(3) == 0) k.dma_copy({.dst = tiles[part], .src = z(below(4))});
    const View changed = tile(k);
    k.dma_copy({.dst = changed, .src = z(part)});
    if (below(4) == 0) k.dma_copy({.dst = tiles[part], .src = z(below(4))});
    add(k, changed, changed, 1 + below(9));
    k.tensor_tensor({.dst = changed, .data1 = changed, .data2 = tiles[below(4)], .op = AluOp::maximum});
    k.dma_copy({.dst = z(below(3) ? part : below(4)), .src = changed});
    if (below(4) == 0) add(k, changed, changed, 1);
    k.dma_copy({.dst = y(part), .src = tiles[below(4)]});
  }
  return k.finish();
}

TEST(Deposit, RandomUpdatesGiveWhatTheDefinitionGives) {
  std::mt19937 random(static_cast<unsigned>(test::seed()));
  const Floats in = counting(4 * kTile);
  for (int round = 0; round < 40; ++round) {
    const isa::Program program = random_updates(random);
    std::map<std::string, Floats> wanted;
    for (const RunOptions& way : {kWays[2], kWays[0], kWays[1]}) {
      std::map<std::string, Floats> arrays = {{"y", Floats(4 * kTile, -1)}, {"z", in}};
      Buffers buffers;
      for (auto& [name, values] : arrays) buffers[name] = {values.data(), values.size() * sizeof(float)};
      run(program, arch(program.target), buffers, way);
      if (way.plain) wanted = arrays;
      for (const auto& [name, values] : arrays) ASSERT_EQ(values, wanted[name]) << name << " round " << round;
    }
  }
}

}  // namespace
}  // namespace kiln::sim
