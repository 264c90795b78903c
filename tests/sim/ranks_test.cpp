// Ranks from C++: the same program on all or one of its own on each, buffers of each, any number of threads.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "kiln/check/check_program.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/sim/machine.h"
#include "tests/error_of.h"

namespace kiln {
namespace {

using isa::Groups;
using isa::Kernel;
using isa::Launch;
using isa::Program;
using isa::View;

using Values = std::vector<float>;
constexpr std::int64_t kRows = 4, kColumns = 33, kSize = kRows * kColumns;

isa::Groups all_of(int ranks) {
  Groups groups(1);
  for (int rank = 0; rank < ranks; ++rank) groups[0].push_back(rank);
  return groups;
}

View shared(Kernel& k, const std::string& name, isa::Shape shape) {
  return k.tensor(Memory::shared_hbm, isa::Role::internal, std::move(shape), DType::float32, {name});
}

// y = the sum of x over all ranks, times `passes`.
Program summing(int ranks, std::int64_t passes = 1) {
  Kernel k("sum", Target::trn2);
  View x = k.input("x", {kRows, kColumns}, DType::float32), y = k.output("y", {kRows, kColumns}, DType::float32);
  View mine = shared(k, "mine", {kRows, kColumns}), one = shared(k, "one", {kRows, kColumns}),
       other = shared(k, "other", {kRows, kColumns});
  k.dma_copy({.dst = mine, .src = x});
  k.all_reduce({.srcs = {mine}, .dsts = {one}, .replica_group = all_of(ranks), .op = AluOp::add});
  for (std::int64_t i = 1; i < passes; ++i) {
    k.all_reduce({.srcs = {one}, .dsts = {other}, .replica_group = all_of(ranks), .op = AluOp::maximum});
    std::swap(one, other);
  }
  k.dma_copy({.dst = y, .src = one});
  return k.finish();
}

struct Trial {
  std::vector<Values> in, out;
  std::vector<sim::Buffers> buffers;

  explicit Trial(int ranks) : in(ranks), out(ranks, Values(kSize)), buffers(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::int64_t i = 0; i < kSize; ++i) in[rank].push_back(1.0f / static_cast<float>(1 + i + 7 * rank));
      buffers[rank]["x"] = {in[rank].data(), kSize * sizeof(float)};
      buffers[rank]["y"] = {out[rank].data(), kSize * sizeof(float)};
    }
  }
  void on(const Launch& launch, int threads = 2) {
    sim::run(launch, arch(launch.target()), buffers, {.threads = threads});
  }
};

// In ascending order of ranks.
Values sum_of(const std::vector<Values>& in) {
  Values sum = in[0];
  for (std::size_t rank = 1; rank < in.size(); ++rank) {
    for (std::int64_t i = 0; i < kSize; ++i) sum[i] += in[rank][i];
  }
  return sum;
}

TEST(Ranks, TheSameProgramOnAllForAnyNumberOfThreads) {
  for (const int ranks : {1, 2, 8, 64}) {
    const Program program = summing(ranks, 3);
    ASSERT_TRUE(check::check_program(program, arch(program.target)).ok());
    for (const int threads : {1, 2, 5}) {
      Trial run(ranks);
      run.on(Launch(program).on_ranks(ranks), threads);
      for (const Values& out : run.out) EXPECT_EQ(out, sum_of(run.in)) << ranks << " ranks, " << threads << " threads";
    }
  }
}

// What several threads share: a reduction of so many elements is cut into parts.
TEST(Ranks, LargeReductionsOnAnyNumberOfThreads) {
  constexpr int kOf = 3;
  constexpr std::int64_t kSide = 1024, kMany = kSide * kSide;
  Kernel k("large", Target::trn2);
  const View x = k.input("x", {kSide, kSide}, DType::float32), y = k.output("y", {kSide, kSide}, DType::float32);
  const View mine = shared(k, "mine", {kSide, kSide}), all = shared(k, "all", {kSide, kSide});
  k.dma_copy({.dst = mine, .src = x});
  k.all_reduce({.srcs = {mine}, .dsts = {all}, .replica_group = all_of(kOf), .op = AluOp::add});
  k.dma_copy({.dst = y, .src = all});
  const Program program = k.finish();
  std::vector<Values> in(kOf, Values(kMany));
  for (int rank = 0; rank < kOf; ++rank)
    for (std::int64_t i = 0; i < kMany; ++i) in[rank][i] = 1.0f / static_cast<float>(1 + i % 977 + 7 * rank);
  for (const int threads : {1, 2, 5}) {
    std::vector<Values> out(kOf, Values(kMany));
    std::vector<sim::Buffers> buffers(kOf);
    for (int rank = 0; rank < kOf; ++rank) {
      buffers[rank]["x"] = {in[rank].data(), kMany * sizeof(float)};
      buffers[rank]["y"] = {out[rank].data(), kMany * sizeof(float)};
    }
    sim::run(Launch(program).on_ranks(kOf), arch(Target::trn2), buffers, {.threads = threads});
    for (std::int64_t i = 0; i < kMany; ++i)
      ASSERT_EQ(out[2][i], (in[0][i] + in[1][i]) + in[2][i]) << "element " << i << " with " << threads << " threads";
    EXPECT_TRUE(out[0] == out[2] && out[1] == out[2]);
  }
}

TEST(Ranks, AProgramOfItsOwnOnEach) {
  const Program a = summing(2), b = summing(2);
  Launch launch;
  launch.programs = {&a, &b};
  launch.ranks = 2;
  Trial run(2);
  run.on(launch);
  EXPECT_EQ(run.out[0], sum_of(run.in));
  EXPECT_EQ(run.out[1], run.out[0]);
}

TEST(Ranks, OneThatGoesOnAloneIsReported) {
  const Program more = summing(3, 2), less = summing(3, 1);
  Launch launch;
  launch.programs = {&more, &less, &more};
  launch.ranks = 3;
  Trial run(3);
  const Diagnostic d = error_of([&] { run.on(launch); });
  EXPECT_EQ(d.code, "run.R17");
  EXPECT_EQ(d.found, "rank 0 waits for rank 1, which has ended");
  ASSERT_EQ(d.notes.size(), 2u);
  EXPECT_TRUE(d.notes[0].text.starts_with("ranks 0 and 2 wait in all_reduce(srcs=[one]")) << d.notes[0].text;
  EXPECT_EQ(d.notes[1].text, "rank 1 has ended");
}

TEST(Ranks, EveryRankHasItsBuffers) {
  const Program program = summing(2);
  Trial run(2);
  run.buffers.pop_back();
  Diagnostic d = error_of([&] { run.on(Launch(program).on_ranks(2)); });
  EXPECT_EQ(d.code, "run.R6");
  EXPECT_EQ(d.found, "buffers of 1 ranks for 2");
  Trial twice(2);
  twice.buffers[1]["y"] = twice.buffers[0]["y"];
  d = error_of([&] { twice.on(Launch(program).on_ranks(2)); });
  EXPECT_EQ(d.found, "ranks 0 and 1 write `y` in the same memory");
}

TEST(Ranks, AnInputMayBeTheSameForAll) {
  const Program program = summing(4);
  Trial run(4);
  for (auto& of_rank : run.buffers) of_rank["x"] = run.buffers[0]["x"];
  run.on(Launch(program).on_ranks(4));
  for (std::int64_t i = 0; i < kSize; ++i) EXPECT_EQ(run.out[3][i], 4 * run.in[0][i]);
}

TEST(Ranks, ManyLaunchesInOneProcess) {
  const Program program = summing(4);
  Trial run(4);
  const Launch launch = Launch(program).on_ranks(4);
  for (int i = 0; i < 1000; ++i) run.on(launch, 1);
  EXPECT_EQ(run.out[2], sum_of(run.in));
}

}  // namespace
}  // namespace kiln
