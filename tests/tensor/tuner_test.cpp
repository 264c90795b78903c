// The search of level 3: never slower than level 2, the same for the same seed, resumed where it was.
#include <gtest/gtest.h>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/lower/tuner.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType bf16 = DType::bfloat16;

Graph ffn(std::int64_t rows) {
  Builder b("ffn");
  const Expr x = b.input("x", {bf16, {rows, 256}});
  const Expr h = silu(matmul(rms_norm(x, b.input("gain", {bf16, {256}})), b.input("w", {bf16, {256, 700}})));
  b.output("y", x + matmul(h, b.input("u", {bf16, {700, 256}})));
  return b.finish();
}

void drive(Tuner& tuner, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const std::vector<Knobs> next = tuner.ask();
    if (next.empty()) return;
    for (const Knobs& knobs : next) tuner.tell(knobs, tuner.time(knobs));
  }
}

TEST(Tuner, IsNeverSlowerAndRight) {
  const Graph graph = ffn(200);
  Tuner tuner(graph, {}, 5);
  drive(tuner, 12);
  Compiled best = tuner.compiled();
  EXPECT_LE(tuner.best_ns(), tuner.first_ns());
  EXPECT_LE(best.time_ns, compile(graph).time_ns);
  const Outcome out = compare(std::move(best), graph, random_inputs(graph, 3));
  EXPECT_EQ(out.wrong, "");
}

TEST(Tuner, TheSameForTheSameSeed) {
  Tuner one(ffn(200), {}, 5), other(ffn(200), {}, 5);
  drive(one, 10);
  drive(other, 10);
  EXPECT_EQ(one.best(), other.best());
  EXPECT_EQ(one.state(), other.state());
}

TEST(Tuner, GoesOnWhereItWas) {
  Tuner whole(ffn(200), {}, 5), first(ffn(200), {}, 5), second(ffn(200), {}, 5);
  drive(whole, 12);
  drive(first, 6);
  second.restore(first.state());
  drive(second, 6);
  whole.compiled(), second.compiled();
  EXPECT_EQ(whole.best(), second.best());
  EXPECT_EQ(whole.tried(), second.tried());
}

TEST(Tuner, TimesOfAnotherProgramDoNotCount) {
  Tuner one(ffn(200), {}, 5), other(ffn(300), {}, 5);
  drive(one, 2);
  other.restore(one.state());
  other.restore("no text of a search");
  EXPECT_FALSE(other.ask().empty());
  EXPECT_EQ(other.tried(), 1u);
}

TEST(Tuner, PairsOfCores) {
  const Graph graph = ffn(128);
  Tuner tuner(graph, {.lnc = 2}, 1);
  drive(tuner, 4);
  const Outcome out = compare(tuner.compiled(), graph, random_inputs(graph, 3));
  EXPECT_EQ(out.wrong, "");
  EXPECT_TRUE(out.compiled.peer.has_value());
}

}  // namespace
}  // namespace kiln::tensor
