// Places of extremes, elements by label, integers compared, integers that floats are rounded to, and sums over rows:
// exact where they are integers, and in few passes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, f16 = DType::float16;
constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};
constexpr double kInf = std::numeric_limits<double>::infinity();

// Few different numbers, so that there are ties, and some that are none.
Array with_ties(const Type& type, std::mt19937_64& random, bool odd_ones = true) {
  Array out{type, std::vector<double>(static_cast<std::size_t>(type.size()))};
  const double odd[] = {std::nan(""), kInf, -kInf, -0.0};
  const std::uint64_t rare = 20 + random() % 5000;
  for (double& x : out.data) {
    x = static_cast<double>(random() % 17) - 8;
    if (odd_ones && random() % rare == 0) x = odd[random() % 4];
  }
  return out;
}

void expect_places(const Shape& shape, std::int64_t axis, DType t, Target target, std::mt19937_64& random) {
  Builder b("places");
  const Expr x = b.input("x", {t, shape});
  b.output("largest", argmax(x, axis));
  b.output("smallest", argmin(x, axis, true));
  const Graph graph = b.finish();
  // trn1 multiplies to turn columns: what is no number spoils others.
  const bool odd_ones = target != Target::trn1 || axis + 1 == static_cast<std::int64_t>(shape.size());
  Arrays inputs{{"x", with_ties({t, shape}, random, odd_ones)}};
  EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "") << print(graph);
}

TEST(Searches, PlacesOfAnyLengthAlongAnyAxis) {
  std::mt19937_64 random(test::seed());
  const auto upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + random() % n); };
  for (int i = 0; i < 6; ++i) {
    for (Target target : kTargets) {
      const DType t = std::vector<DType>{f32, bf16, f16}[random() % 3];
      expect_places({upto(400), upto(90)}, 1, t, target, random);
      expect_places({100 + upto(200), 20 + upto(3000)}, 1, t, target, random);
      expect_places({upto(30), 8 * upto(2000)}, 1, t, target, random);
      expect_places({upto(6), upto(200), upto(70)}, static_cast<std::int64_t>(random() % 3), t, target, random);
    }
  }
}

// Columns that are searched as they stand, some on each partition; the last block of one shares elements.
TEST(Searches, PlacesOfShortColumns) {
  std::mt19937_64 random(test::seed());
  for (Target target : kTargets) {
    for (const DType t : {f32, bf16, f16}) {
      expect_places({129, 8192}, 0, t, target, random);
      expect_places({9, 16384}, 0, t, target, random);
      expect_places({20, 67, 7 * 96}, 1, t, target, random);
      expect_places({3, 33, 48, 128}, 1, t, target, random);
    }
  }
}

TEST(Searches, ShortColumnsAreLookedAtOnce) {
  constexpr double kReadNs = 4.0 * 129 * 64000 / 368.0;
  Builder b("once");
  b.output("place", argmax(b.input("x", {f32, {129, 64000}}), 0));
  EXPECT_LT(compile(b.finish()).time_ns, 2.5 * kReadNs);  // 10 where blocks of 128 are turned
}

TEST(Searches, PlacesInRowsThatDoNotFit) {
  std::mt19937_64 random(test::seed());
  for (Target target : kTargets) {
    for (const auto& [t, n] : {std::pair{f32, 70001}, std::pair{bf16, 50257}, std::pair{f32, 32768}}) {
      Builder b("wide");
      const Expr x = b.input("x", {t, {40, n}});
      b.output("place", argmax(tanh(x * 0.1), 1));
      b.output("sum", sum(x, {{1}}));
      Arrays inputs{{"x", with_ties({t, {40, n}}, random)}};
      const Graph graph = b.finish();
      EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "") << n;
    }
  }
}

TEST(Searches, ElementsAreLookedAtOnce) {
  constexpr double kReadNs = 128 * 1024 * 1024 / 368.0;  // of 8192 x 4096 float32
  Builder b("once");
  b.output("place", argmax(b.input("x", {f32, {8192, 4096}}), 1));
  EXPECT_LT(compile(b.finish()).time_ns, 1.4 * kReadNs);
}

// exp and sums of wide rows in pieces, whose largest elements differ, and rows of infinities.
TEST(Searches, LossesOfWideRows) {
  for (Target target : kTargets) {
    Builder b("loss");
    const Expr x = b.input("x", {f32, {30, 41007}}), at = b.input("at", {DType::int32, {30, 1}});
    const Expr top = max(x, {{1}, true}), logs = x - top - log(sum(exp(x - top), {{1}, true}));
    b.output("loss", take_along_axis(logs, at, 1));
    const Graph graph = b.finish();
    Arrays inputs = random_inputs(graph, 3);
    std::vector<double>& data = inputs["x"].data;
    for (std::size_t row = 0; row < 30; ++row) {
      for (std::size_t i = 0; i < 41007; ++i) {
        const std::size_t step = i / 3000;
        data[row * 41007 + i] += static_cast<double>(step * (row % 5));
      }
      inputs["at"].data[row] = static_cast<double>(row * 97 % 41007) - (row % 2 ? 41007.0 : 0.0);
    }
    std::fill_n(data.begin(), 30000, -kInf);
    std::fill_n(data.begin() + 41007, 41007, -kInf);
    data[2 * 41007 + 5] = kInf;
    data[3 * 41007 + 7] = std::nan("");
    EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "");
  }
}

// x[arange(n), at] is one element of each row, also where x is converted or computed before.
TEST(Searches, OneElementOfEachRow) {
  for (const std::int64_t columns : {900, 30000}) {
    Builder b("picked");
    const Expr x = b.input("x", {bf16, {150, columns}}), at = b.input("at", {DType::int32, {150}});
    const Value rows = b.graph().iota({DType::int32, {150}}, 0);
    const Expr wide = cast(x, f32);
    const Value picked = b.graph().add(OpCode::gather_nd, {wide.value(), rows, at.value()});
    b.output("y", Expr(b.graph(), picked) - max(wide, {{1}}));
    const Graph graph = b.finish();
    Arrays inputs = random_inputs(graph, 4);
    for (std::size_t i = 0; i < 150; ++i) inputs["at"].data[i] = static_cast<double>(i * 5) - (i % 3 ? 0 : 100);
    const Outcome out = compare(graph, inputs);
    EXPECT_EQ(out.wrong, "") << columns;
    for (const RegionReport& r : out.compiled.regions)  // nothing of the size of x goes back to HBM
      EXPECT_LT(r.hbm_bytes, 2.0 * 150 * static_cast<double>(columns) * 1.1);
  }
}

TEST(Searches, IntegersComparedWithSmallOnes) {
  Builder b("compared");
  const Expr x = b.input("x", {DType::int32, {150, 1}}), y = b.input("y", {DType::int32, {150, 40}});
  const Expr places(b.graph(), b.graph().iota({DType::int32, {1, 700}}, 1));
  b.output("hot", cast(equal(places, x), bf16));
  b.output("below", cast(less(x, places), f32));
  b.output("negative", less(y, std::int64_t{0}));
  b.output("both", cast(equal(y, x), DType::int32));  // neither is small
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 6);
  const double special[] = {0, 5, 699, 700, -1, 16777216, 16777217, 2147483647, -2147483648.0, 16777219};
  for (std::size_t i = 0; i < 150; ++i) {
    inputs["x"].data[i] = special[i % 10];
    for (std::size_t j = 0; j < 40; ++j) inputs["y"].data[i * 40 + j] = special[(i + j % 3) % 10];
  }
  for (Target target : kTargets) EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "");
}

TEST(Searches, IntegersInRowsThatDoNotFit) {
  Builder b("integers");
  const Expr x = b.input("x", {DType::int32, {20, 60001}}), y = b.input("y", {DType::int8, {20, 60001}});
  b.output("sum", sum(x, {{1}}));
  b.output("largest", max(x, {{1}}));
  b.output("smallest", min(x, {{1}}));
  b.output("small", sum(y, {{1}}));
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 8);
  std::mt19937_64 random(test::seed());
  for (double& e : inputs["x"].data) e = static_cast<double>(random() % 70001) - 35000;
  inputs["x"].data[5] = 2147483647;
  inputs["x"].data[60001 + 59999] = -2147483647;
  for (Target target : kTargets) EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "");
}

TEST(Searches, RoundedFloatsAsIntegers) {
  for (DType t : {f32, bf16}) {
    Builder b("rounded");
    const Expr x = b.input("x", {t, {130, 300}});
    b.output("near", cast(rint(x * 4.0), DType::int8));
    b.output("clipped", cast(minimum(maximum(rint(x * 16.0), -128.0), 127.0), DType::int8));
    b.output("kept", rint(x));
    b.output("cut", cast(x * 8.0, DType::int32));
    const Graph graph = b.finish();
    Arrays inputs = random_inputs(graph, 7);
    for (std::size_t i = 0; i < 300; ++i) inputs["x"].data[i] = static_cast<double>(i) / 8 - 18;  // ties
    for (Target target : kTargets) EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "");
  }
}

// Gradients of norms: sums over all rows of what the rows are made of, and of what is only read.
TEST(Searches, SumsOverRowsAlongTheWay) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 6; ++i) {
    const std::int64_t rows = 512 + static_cast<std::int64_t>(random() % 700),
                       columns = 128 + static_cast<std::int64_t>(random() % 900);
    const DType t = i % 2 ? bf16 : f32;
    Builder b("gradient");
    const Expr x = b.input("x", {t, {rows, columns}}), dy = b.input("dy", {t, {rows, columns}});
    const Expr gain = b.input("gain", {t, {columns}});
    const Expr wide = cast(x, f32), back = cast(dy, f32);
    const Expr normal = wide * rsqrt(mean(square(wide), {{1}, true}) + 1e-3), d = back * gain;
    b.output("dx", cast(d - normal * mean(d * normal, {{1}, true}), t));
    b.output("dgain", sum(back * normal, {{0}}));
    b.output("dbias", cast(sum(back, {{0}, true}) * 0.5, t));
    const Graph graph = b.finish();
    const Target target = kTargets[i % 3];
    const Outcome out = compare(graph, static_cast<unsigned>(random()), {.target = target});
    EXPECT_EQ(out.wrong, "") << print(graph);
    for (const Spill& s : out.compiled.spills) EXPECT_LE(s.bytes, 4.0 * static_cast<double>(columns)) << s.what;
  }
}

}  // namespace
}  // namespace kiln::tensor
