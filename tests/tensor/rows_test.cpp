// Norms, softmax, losses and sums along any axis at random shapes: the same values as the oracle's on every chip.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, f16 = DType::float16;
constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

class Rows : public ::testing::Test {
 protected:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }
  // Every target in turn; prints the program that is wrong.
  void expect_right(const Graph& graph, int level = 2, const InputOptions& inputs = {}) {
    const Target target = kTargets[count_++ % 3];
    try {
      const Outcome out = compare(graph, static_cast<unsigned>(random_()), {.target = target, .level = level}, inputs);
      EXPECT_EQ(out.wrong, "") << print(graph) << "on target " << static_cast<int>(target) << "\n"
                               << isa::print(out.compiled.program);
    } catch (const Error& e) {
      ADD_FAILURE() << print(graph) << e.what();
    }
  }

  std::mt19937_64 random_{test::seed()};
  int count_ = 0;
};

// Shapes whose columns are long and many enough to be turned, and others.
struct Place {
  Shape shape;
  Ints axes;
};

Expr normed(const Expr& x, const Ints& axes) {
  const Expr centred = x - mean(x, {axes, true});
  return centred * rsqrt(mean(square(centred), {axes, true}) + 1e-3);
}
Expr soft(const Expr& x, const Ints& axes) {
  const Expr e = exp(x - max(x, {axes, true}));
  return e / sum(e, {axes, true});
}

TEST_F(Rows, OfColumnsThatAreTurned) {
  for (int i = 0; i < 12; ++i) {
    const Place place = one_of<Place>({{{pick(100, 600), pick(130, 800)}, {0}},
                                       {{pick(2, 5), pick(60, 300), pick(100, 300)}, {1}},
                                       {{pick(9, 20), pick(9, 20), pick(200, 500)}, {0, 1}},
                                       {{pick(2, 3), pick(60, 140), pick(9, 20), pick(17, 40)}, {1}},
                                       {{64, pick(20, 40), pick(140, 200)}, {0}}});
    const DType t = one_of<DType>({f32, f32, bf16, f16});
    const Shape last{place.shape.back()};
    Builder b("columns");
    const Expr x = b.input("x", {t, place.shape});
    switch (pick(0, 5)) {
      case 0:
        b.output("y", soft(x, place.axes));
        break;
      case 1:
        b.output("y", normed(x, place.axes) * b.input("gain", {t, last}) + b.input("bias", {t, last}));
        break;
      case 2: {
        const Expr d = x - max(x, {place.axes, true});
        b.output("y", d - log(sum(exp(d), {place.axes, true})));
        break;
      }
      case 3:  // what is read before and after, and a reduction that leaves
        b.output("y", soft(tanh(x) * 2.0 + b.input("z", {t, place.shape}), place.axes) * x);
        b.output("m", mean(x, {place.axes, false}));
        break;
      case 4: {  // without the reduced dimensions
        const Expr m = mean(x, {place.axes, false}), v = variance(x, {place.axes, false}, 1);
        const auto back = [&](const Expr& e) {
          Shape kept = place.shape;
          for (std::int64_t a : place.axes) kept[static_cast<std::size_t>(a)] = 1;
          return reshape(e, kept);
        };
        b.output("y", (x - back(m)) / sqrt(back(v) + 0.1));
        break;
      }
      default:
        b.output("y", where(x > mean(x, {place.axes, true}), x, min(x, {place.axes, true})));
        b.output("z", sum(normed(x, place.axes), {{-1}, true}));
    }
    expect_right(b.finish(), static_cast<int>(pick(1, 2)));
  }
}

// Means and variances in one pass, however they are written, of short rows and of such as go in pieces.
TEST_F(Rows, OfNorms) {
  for (int i = 0; i < 10; ++i) {
    const std::int64_t rows = pick(100, 600),
                       n = one_of<std::int64_t>({pick(30, 100), pick(500, 1600), pick(1024, 1026)});
    const DType t = one_of<DType>({f32, bf16, f16});
    Builder b("norms");
    const Expr x = b.input("x", {t, {rows, n}}), gain = b.input("gain", {t, {n}});
    switch (pick(0, 3)) {
      case 0:
        b.output("y", layer_norm(x, gain, b.input("bias", {t, {n}})));
        break;
      case 1:
        b.output("y", (x - mean(x, {{1}, true})) / sqrt(variance(x, {{1}, true}, 1) + 0.01) * gain);
        b.output("v", variance(x, {{1}, false}));
        break;
      case 2:  // others want the squares, and what is centred
        b.output("y", normed(x, {1}) + gain);
        b.output("s", sum(square(x - mean(x, {{1}, true})), {{1}}));
        b.output("c", x - mean(x, {{1}, true}));
        break;
      default:
        b.output("y", normed(tanh(x) + gain, {-1}));
    }
    expect_right(b.finish(), static_cast<int>(pick(1, 2)));
  }
}

TEST_F(Rows, OfLongNorms) {
  for (const DType t : {f32, bf16}) {
    Builder b("long_norm");
    const Expr x = b.input("x", {t, {pick(3, 130), pick(30000, 50000)}});
    b.output("y", normed(x, {1}));
    b.output("z", soft(x, {1}));
    expect_right(b.finish());
  }
}

// Few rows along two axes that no partition holds.
TEST_F(Rows, OfLongNormsOfTwoAxes) {
  for (const DType t : {f32, bf16}) {
    const std::int64_t rows = t == f32 ? 20 : 26, n = pick(1100, 1200);
    Builder b("two_axes");
    const Expr x = b.input("x", {t, {rows, 80, n}}), wide = cast(x, f32);
    const Expr mean_of = cast(mean(wide, {{1, 2}, true}), t), var = cast(variance(wide, {{1, 2}, true}), t);
    b.output("y", (x - mean_of) * rsqrt(var + 1e-3) * b.input("gain", {t, {80, n}}));
    const Graph graph = b.finish();
    expect_right(graph);
    for (const Spill& s : compile(graph).spills) EXPECT_LT(s.bytes, 1e6) << s.what;
  }
}

TEST_F(Rows, OfImages) {
  const Shape shape{pick(9, 20), one_of<std::int64_t>({128, 256, pick(100, 200)}), pick(8, 16), pick(24, 40)};
  for (const DType t : {f32, bf16, f32}) {
    Builder b("images");
    const Expr x = b.input("x", {t, shape}), gain = b.input("gain", {t, {shape[1], 1, 1}});
    b.output("batch", normed(x, {0, 2, 3}) * gain + 0.5);
    b.output("v", variance(x, {{0, 2, 3}, false}, 1));
    expect_right(b.finish());
    Builder c("columns");
    const Expr z = c.input("z", {t, {pick(9000, 20000), pick(60, 130)}});
    c.output("y", (z - mean(z, {{0}, false})) * rsqrt(variance(z, {{0}, false}) + 0.1));
    expect_right(c.finish());
  }
}

// Far from zero the two terms of a variance are large, and it is what is left of them.
TEST_F(Rows, OfValuesFarFromZero) {
  for (const Ints& axes : {Ints{0, 2, 3}, Ints{0}, Ints{1}}) {
    Builder b("far");
    const Expr x = axes.size() == 3 ? b.input("x", {f32, {12, 64, 40, 40}}) : b.input("x", {f32, {9000, 130}});
    b.output("v", variance(x, {axes, false}));
    expect_right(b.finish(), 2, {.low = 99, .high = 101});
  }
}

TEST_F(Rows, OfLosses) {
  for (int i = 0; i < 6; ++i) {
    const std::int64_t rows = pick(100, 300),
                       n = one_of<std::int64_t>({pick(20, 60), pick(1000, 3000), pick(15000, 30000)});
    const DType t = one_of<DType>({f32, bf16});
    Builder b("loss");
    const Expr x = b.input("x", {t, {rows, n}}), d = x - max(x, {{-1}, true});
    const Expr logs = d - log(sum(exp(d), {{-1}, true}));
    Graph& g = b.graph();
    std::vector<double> labels;
    for (std::int64_t r = 0; r < rows; ++r) labels.push_back(static_cast<double>(pick(-n, n - 1)));
    const Expr at(g, g.constant({DType::int32, {rows, 1}}, labels));
    b.output("loss", -mean(take_along_axis(logs, at, 1)));
    if (pick(0, 1)) b.output("logs", logs);
    expect_right(b.finish());
  }
}

TEST_F(Rows, SumsOfColumns) {
  for (int i = 0; i < 8; ++i) {
    const Shape shape =
        one_of<Shape>({{pick(900, 3000), pick(100, 900)}, {2048, 512}, {pick(20, 40), 130, pick(300, 600)}});
    const DType t = one_of<DType>({f32, bf16});
    Builder b("sums");
    const Expr x = b.input("x", {t, shape});
    b.output("s", sum(x, {{static_cast<std::int64_t>(shape.size()) - 2}}));
    b.output("m", max(x, {{static_cast<std::int64_t>(shape.size()) - 2}}));
    expect_right(b.finish());
  }
}

// A shape that stands for two: (k, k, n) without its reduced dimension lies beside the wrong one.
TEST_F(Rows, OfSquares) {
  Builder b("squares");
  const Expr x = b.input("x", {f32, {70, 70, 40}});
  b.output("y", x - mean(x, {{1}, false}));
  b.output("z", x - mean(x, {{1}, true}));
  expect_right(b.finish());
}

}  // namespace
}  // namespace kiln::tensor
