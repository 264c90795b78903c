// The programs of a run together.
#include "kiln/isa/launch.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace kiln::isa {
namespace {

std::string codes(const Launch& launch) {
  std::string all;
  for (const Diagnostic& d : verify(launch)) all += (all.empty() ? "" : " ") + d.code;
  return all;
}

Program in_pair() {
  Program program;
  program.lnc = 2;
  return program;
}

TEST(Launch, OneProgramIsALaunchOfOneCore) {
  const Program program;
  const Launch launch = program;
  EXPECT_EQ(codes(launch), "");
  EXPECT_EQ(launch.cores().size(), 1u);
  EXPECT_EQ(&launch.program(0, 0), &program);
  EXPECT_EQ(launch.name(), "kernel");
}

// What it waits for is told when it runs.
TEST(Launch, AProgramOfAPairMayStandAlone) { EXPECT_EQ(codes(in_pair()), ""); }

TEST(Launch, APairHasTwoPrograms) {
  const std::vector<Program> pair{in_pair(), in_pair()};
  const auto launch = Launch::of(pair);
  EXPECT_EQ(codes(launch), "");
  EXPECT_EQ(launch.cores_per_rank, 2);
  EXPECT_EQ(&launch.program(0, 1), &pair[1]);
  EXPECT_EQ(launch.name(), "kernel + kernel");
}

TEST(Launch, ProgramsAreCounted) {
  const Program p = in_pair();
  EXPECT_EQ(codes(Launch()), "launch.R1");
  EXPECT_EQ(codes(Launch({&p, &p, &p})), "launch.R1");
  Launch launch({&p, &p});
  launch.ranks = 2;
  EXPECT_EQ(codes(launch), "launch.R1");
  EXPECT_EQ(verify(launch)[0].found, "2 programs for 2 x 2 cores");
}

TEST(Launch, ProgramsHaveOneTarget) {
  Program first = in_pair(), second = in_pair();
  second.target = Target::trn3;
  EXPECT_EQ(codes(Launch({&first, &second})), "launch.R2");
  EXPECT_EQ(verify(Launch({&first, &second}))[0].found, "the targets are trn2 and trn3");
}

TEST(Launch, ProgramsOfARankSayThatTheyAreTwo) {
  Program first = in_pair(), second;
  second.name = "alone";
  EXPECT_EQ(codes(Launch({&first, &second})), "launch.R3");
  EXPECT_EQ(verify(Launch({&first, &second}))[0].found, "program `alone` says lnc 1");
}

TEST(Launch, SeveralRanksAreNotYet) {
  const Program p;
  Launch launch({&p, &p});
  launch.ranks = 2;
  launch.cores_per_rank = 1;
  launch.replica_groups = {{1, 0}};
  const Diagnostic d = error_of([&] { require_sound(launch); });
  EXPECT_EQ(d.code, "launch.R5");
  EXPECT_EQ(d.category, Category::not_yet);
  EXPECT_EQ(d.found, "2 ranks");
  EXPECT_EQ(launch.cores(1).size(), 1u);
}

TEST(Launch, GroupsHoldEveryRankOnce) {
  const Program p;
  Launch launch({&p, &p});
  launch.ranks = 2;
  launch.cores_per_rank = 1;
  using Groups = std::vector<std::vector<int>>;
  for (const Groups& wrong : {Groups{}, Groups{{0}}, Groups{{0, 1}, {1}}, Groups{{0, 2}}, Groups{{-1}, {0, 1}}}) {
    launch.replica_groups = wrong;
    EXPECT_EQ(codes(launch), "launch.R4 launch.R5");
  }
  launch.replica_groups = {{1}, {0}};
  EXPECT_EQ(codes(launch), "launch.R5");
}

TEST(Launch, CoresShareWhatTheCallerSeesAndSharedHbm) {
  Tensor t{.name = "t", .memory = Memory::hbm, .dtype = DType::float32, .shape = {1}};
  EXPECT_FALSE(is_shared(t));
  t.role = Role::input;
  EXPECT_TRUE(is_shared(t));
  t.role = Role::internal;
  t.memory = Memory::shared_hbm;
  EXPECT_TRUE(is_shared(t));
}

}  // namespace
}  // namespace kiln::isa
