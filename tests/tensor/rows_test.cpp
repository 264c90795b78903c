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
  void expect_right(const Graph& graph, int level = 2) {
    const Target target = kTargets[count_++ % 3];
    try {
      const Outcome out = compare(graph, static_cast<unsigned>(random_()), {.target = target, .level = level});
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
