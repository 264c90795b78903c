// The programs of a run together.
#include "kiln/isa/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "kiln/isa/text/parse.h"
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

TEST(Launch, RanksRunTheSameProgramsOrTheirOwn) {
  const std::vector<Program> pair{in_pair(), in_pair()};
  const Launch launch = Launch::of(pair).on_ranks(3);
  EXPECT_EQ(codes(launch), "");
  EXPECT_EQ(launch.programs.size(), 6u);
  EXPECT_EQ(&launch.program(2, 1), &pair[1]);
  EXPECT_EQ(launch.name(), "kernel + kernel");
  EXPECT_EQ(launch.of_rank(2).ranks, 1);
  EXPECT_EQ(launch.of_rank(2).cores().size(), 2u);
}

Program with_groups(const std::string& groups) {
  return parse(fmt::format(R"(kiln 1 program "p" target trn2
    tensor a: hbm float32 [4]
    tensor b: hbm float32 [4]
    all_reduce(srcs=[a], dsts=[b], replica_group={}, op=add))",
                           groups),
               "p.kiln");
}

std::string codes_of_ranks(const std::string& groups, int ranks) {
  const Program program = with_groups(groups);
  std::vector<std::string> all;
  for (const Diagnostic& d : verify_ranks(Launch(program).on_ranks(ranks))) all.push_back(d.code);
  return fmt::format("{}", fmt::join(all, " "));
}

TEST(Launch, CollectivesNameRanksOfTheLaunch) {
  EXPECT_EQ(codes_of_ranks("[[0, 1]]", 2), "");
  EXPECT_EQ(codes_of_ranks("[[1], [0]]", 2), "");
  EXPECT_EQ(codes_of_ranks("[[0, 1]]", 1), "launch.R4");
  EXPECT_EQ(codes_of_ranks("[[0, 1], [2, 3]]", 3), "launch.R4");
  EXPECT_EQ(codes(with_groups("[[0, 1]]")), "") << "what is only timed runs on no rank";
}

TEST(Launch, ARankStandsInOneOfTheGroups) {
  EXPECT_EQ(codes_of_ranks("[[0, 1]]", 3), "launch.R5");
  const Program program = with_groups("[[0, 1]]");
  const Diagnostic d = error_of([&] { require_ranks(Launch(program).on_ranks(3)); });
  EXPECT_EQ(d.found, "all_reduce among [[0, 1]] on rank 2 of 3");
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
