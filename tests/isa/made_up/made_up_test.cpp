// Instructions that only this program knows, a row and a file each: they are checked, run, followed, timed, printed and
// listed like the others, so nothing beside their rows and files has to know an instruction.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/manual.h"
#include "kiln/analysis/work.h"
#include "kiln/check/check_program.h"
#include "kiln/isa/text/parse.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/machine.h"
#include "kiln/timing/simulate.h"
#include "tests/error_of.h"

namespace kiln {
namespace {

isa::Program program(const std::string& tensors, const std::string& statements) {
  return isa::parse("kiln 1\nprogram \"toy\" target trn2 fragment\n" + tensors + statements, "toy.kiln");
}

const std::string kTiles =
    "tensor a: input sbuf float32 [2, 3]\n"
    "tensor b: input sbuf float32 [2, 3]\n"
    "tensor o: output sbuf float32 [2, 3]\n";
const std::string kBlend = "blend(left=a, right=b, mixed=o)\n";

const std::string kMatrices =
    "tensor a: input sbuf float32 [2, 3]\n"
    "tensor b: input sbuf float32 [2, 2]\n"
    "tensor o: output psum float32 [3, 2]\n";
const std::string kGram = "gram(passed=b, held=a, sums=o)\n";

const Arch& chip() { return arch(Target::trn2); }

sim::Buffer buffer(std::vector<float>& values) { return {values.data(), values.size() * sizeof(float)}; }

TEST(MadeUp, IsChecked) {
  EXPECT_TRUE(check::check_program(program(kTiles, kBlend), chip()).ok());
  const auto report = check::check_program(
      program(kTiles, "tensor w: sbuf float32 [2, 4]\nblend(left=a, right=b, mixed=w)\n" + kBlend), chip());
  ASSERT_EQ(report.diagnostics.size(), 1u) << to_text(report.diagnostics);
  EXPECT_EQ(report.diagnostics[0].code, "blend.R1");
  EXPECT_EQ(report.diagnostics[0].operand, "mixed");
  EXPECT_EQ(report.diagnostics[0].found, "left is [2, 3], mixed is [2, 4]");
}

TEST(MadeUp, ChoosesItsEngineByTheTypeOfTheAttribute) {
  const auto report =
      check::check_program(program(kTiles, "blend(left=a, right=b, mixed=o, runs_on=scalar)\n"), chip());
  ASSERT_EQ(report.diagnostics.size(), 1u) << to_text(report.diagnostics);
  EXPECT_EQ(report.diagnostics[0].code, "operand.R4");
}

TEST(MadeUp, IsRun) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {3, 2, 1, 0, -1, -2}, o(6);
  sim::run(program(kTiles, kBlend), chip(), {{"a", buffer(a)}, {"b", buffer(b)}, {"o", buffer(o)}});
  EXPECT_EQ(o, (std::vector<float>{2, 2, 2, 2, 2, 2}));
}

TEST(MadeUp, IsFollowed) {
  const std::string tensors =
      "tensor a: input sbuf float32 [2, 3]\ntensor n: sbuf float32 [2, 3]\ntensor o: output sbuf float32 [2, 3]\n";
  std::vector<float> a(6), o(6);
  const auto run = [&] {
    sim::run(program(tensors, "blend(left=a, right=n, mixed=o)\n"), chip(), {{"a", buffer(a)}, {"o", buffer(o)}});
  };
  EXPECT_EQ(error_of(run).code, "run.R1");
}

TEST(MadeUp, MultipliesLikeNobodyElse) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 0, 1}, o(6);
  sim::run(program(kMatrices, kGram), chip(), {{"a", buffer(a)}, {"b", buffer(b)}, {"o", buffer(o)}});
  EXPECT_EQ(o, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(MadeUp, IsTimed) {
  const timing::Timeline once = timing::simulate(program(kTiles, kBlend), chip());
  const timing::Timeline twice = timing::simulate(program(kTiles, kBlend + kBlend), chip());
  EXPECT_EQ(once.instructions, 1);
  EXPECT_GT(once.total, 0);
  EXPECT_GT(twice.total, once.total);
}

TEST(MadeUp, CountsWhatItMultiplies) {
  const isa::Program p = program(kMatrices, kGram);
  EXPECT_EQ(timing::simulate(p, chip()).macs, 2 * 2 * 3);
  analysis::Work work;
  analysis::add_work(work, p, {}, chip());
  EXPECT_EQ(work.matmuls, 1);
  EXPECT_EQ(work.matmul_flops, 2.0 * 2 * 2 * 3 * chip().matmul_fp32_passes);
}

// What it holds is loaded before it begins, and so while what it is passed is still made.
TEST(MadeUp, LoadsItsStationaryOperandEarly) {
  const auto total = [](const std::string& product) {
    const std::string tensors =
        "tensor a: input sbuf bfloat16 [128, 128]\ntensor c: input sbuf bfloat16 [128, 128]\n"
        "tensor p: output psum float32 [128, 128]\ntensor t: sbuf bfloat16 [128, 128]\n";
    return timing::simulate(program(tensors, "tensor_copy(dst=t, src=c)\n" + product), chip()).total;
  };
  EXPECT_GT(total("gram(passed=a, held=t, sums=p)\n"), total("gram(passed=t, held=a, sums=p)\n"));
}

TEST(MadeUp, ReadsBackAsItWasPrinted) {
  const std::string text = isa::print(program(kTiles, kBlend));
  EXPECT_NE(text.find("blend(left=a, right=b, mixed=o)"), std::string::npos) << text;
  EXPECT_EQ(isa::print(isa::parse(text, "again.kiln")), text);
}

TEST(MadeUp, IsListed) {
  const auto rows = isa::all_instructions();
  const auto row = std::ranges::find(rows, "blend", &isa::InstructionInfo::name);
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(isa::signature(*row), "blend(left, right, mixed, runs_on=engine.unknown, name=None)");
  EXPECT_TRUE(cli::is_complete(*row));
  EXPECT_EQ(cli::json_of(*row)["rules"].size(), 1u);
}

}  // namespace
}  // namespace kiln
