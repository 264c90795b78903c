// Norms and softmaxes whose rows lie on several partitions each: group norm, batch norm, few long rows, and norms along
// any dimensions at random shapes. The same values as the oracle's on every chip.
#include <gtest/gtest.h>

#include <limits>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, f16 = DType::float16;
constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

class NormParts : public ::testing::Test {
 protected:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }
  // Every target in turn; with `odd`, a few elements of x are no numbers. Prints the program that is wrong.
  void expect_right(const Graph& graph, bool odd = false) {
    const Target target = kTargets[count_++ % 3];
    Arrays inputs = random_inputs(graph, static_cast<unsigned>(random_()));
    std::vector<double>& x = inputs.at("x").data;
    if (odd) {
      x[x.size() / 2] = std::numeric_limits<double>::quiet_NaN();
      x[x.size() / 3] = std::numeric_limits<double>::infinity();
      x[5] = -std::numeric_limits<double>::infinity();
    }
    try {
      const Outcome out = compare(graph, inputs, {.target = target, .level = static_cast<int>(pick(1, 2))});
      EXPECT_EQ(out.wrong, "") << print(graph) << "on target " << static_cast<int>(target) << "\n"
                               << isa::print(out.compiled.program);
    } catch (const Error& e) {
      ADD_FAILURE() << print(graph) << e.what();
    }
  }

  std::mt19937_64 random_{test::seed()};
  int count_ = 0;
};

Expr normed(const Expr& x, const Ints& axes) {
  const Expr centred = x - mean(x, {axes, true});
  return centred * rsqrt(mean(square(centred), {axes, true}) + 1e-3);
}
Expr soft(const Expr& x, const Ints& axes) {
  const Expr e = exp(x - max(x, {axes, true}));
  return e / sum(e, {axes, true});
}

// Channels in groups, with a gain and a bias for each channel.
Expr group_norm(Builder& b, const Expr& x, std::int64_t groups) {
  const Shape s = x.shape();
  const Expr split = reshape(x, {s[0], groups, s[1] / groups * s[2] * s[3]});
  const Expr y = reshape(normed(split, {2}), s);
  return y * b.input("gain", {x.dtype(), {s[1], 1, 1}}) + b.input("bias", {x.dtype(), {s[1], 1, 1}});
}

TEST_F(NormParts, OfGroups) {
  for (int i = 0; i < 12; ++i) {
    const std::int64_t groups = pick(1, 9), channels = groups * pick(1, 14);
    const Shape shape{pick(1, 9), channels, pick(8, 24), pick(17, 30)};
    const DType t = one_of<DType>({f32, f32, bf16, f16});
    Builder b("groups");
    const Expr x = b.input("x", {t, shape});
    switch (pick(0, 3)) {
      case 0:
        b.output("y", group_norm(b, x, groups));
        break;
      case 1:
        b.output("y", silu(group_norm(b, x, groups)));
        break;
      case 2:  // what is normed is computed, and wanted by others
        b.output("s", x + b.input("z", {t, shape}));
        b.output("y", group_norm(b, x + tanh(x), groups) + x);
        break;
      default: {
        const Expr split = reshape(x, {shape[0], groups, -1});
        const Expr m = mean(split, {{2}, true}), v = variance(split, {{2}, true}, 1);
        b.output("m", m);
        b.output("v", reshape(v, {shape[0], groups}));
        b.output("y", reshape((split - m) / sqrt(v + 0.1), shape) * b.input("gain", {t, {channels, 1, 1}}));
      }
    }
    expect_right(b.finish(), i % 3 == 2);
  }
}

TEST_F(NormParts, OfBatches) {
  for (int i = 0; i < 12; ++i) {
    const Shape shape{one_of<std::int64_t>({pick(2, 20), 64}), pick(2, 40), pick(8, 20), pick(17, 30)};
    const Shape gains{1, shape[1], 1, 1};
    const Ints axes{0, 2, 3};
    const DType t = one_of<DType>({f32, f32, bf16, f16});
    Builder b("batches");
    const Expr x = b.input("x", {t, shape});
    const Expr gain = b.input("gain", {t, gains}), bias = b.input("bias", {t, gains});
    switch (pick(0, 2)) {
      case 0:
        b.output("y", normed(x, axes) * gain + bias);
        break;
      case 1: {
        const Expr m = mean(x, {axes, true}), v = variance(x, {axes, true});
        b.output("y", relu((x - m) * (rsqrt(v + 0.01) * gain) + bias));
        b.output("m", reshape(m, {shape[1]}) * 0.1 + b.input("running", {t, {shape[1]}}) * 0.9);
        b.output("v", v);
        break;
      }
      default:
        b.output("y", soft(x * gain, axes) - bias);
    }
    expect_right(b.finish(), i % 3 == 2);
  }
}

TEST_F(NormParts, OfFewLongRows) {
  for (int i = 0; i < 12; ++i) {
    const std::int64_t rows = pick(1, 60), n = 128 * pick(16, 60);
    const DType t = one_of<DType>({f32, f32, bf16, f16});
    Builder b("long");
    const Expr x = b.input("x", {t, {rows, n}});
    switch (pick(0, 4)) {
      case 0:
        b.output("y", soft(x, {1}));
        break;
      case 1:
        b.output("y", normed(x, {1}) * b.input("gain", {t, {n}}) + b.input("bias", {t, {n}}));
        break;
      case 2: {
        const Expr d = x - max(x, {{1}, true}), total = sum(exp(d), {{1}, true});
        b.output("y", d - log(total));
        b.output("s", total);
        break;
      }
      case 3:
        b.output("y", where(x > mean(x, {{1}, true}), x, min(x, {{1}, true})));
        break;
      default:
        b.output("y", normed(tanh(x) * 2.0 + b.input("z", {t, {rows, n}}), {1}) * x);
    }
    expect_right(b.finish(), i % 4 == 3);
  }
}

TEST_F(NormParts, OfSeveralDimensions) {
  for (int i = 0; i < 8; ++i) {
    const Shape shape{pick(2, 70), 8 * pick(2, 8), pick(30, 90)};
    const DType t = one_of<DType>({f32, bf16});
    const Shape gains = one_of<Shape>({{shape[1], shape[2]}, {shape[1], 1}, {shape[2]}});
    Builder b("several");
    const Expr x = b.input("x", {t, shape});
    b.output("y", normed(x, {1, 2}) * b.input("gain", {t, gains}) + b.input("bias", {t, gains}));
    expect_right(b.finish(), i % 4 == 3);
  }
}

// The mean is far from zero: what the parts of a row differ by is not lost.
TEST_F(NormParts, OfLargeMeans) {
  for (const Target target : kTargets) {
    Builder b("far");
    b.output("y", normed(b.input("x", {f32, {8, 16, 1024}}), {1, 2}));
    EXPECT_EQ(compare(b.finish(), 3, {.target = target}, {.low = 298, .high = 302}).wrong, "");
  }
}

// All of it is one group that reads and writes once.
TEST_F(NormParts, ReadOnce) {
  const auto bytes_over = [](const Compiled& c, double least) {
    EXPECT_EQ(c.regions.size(), 1u);
    EXPECT_GT(c.regions.empty() ? 0 : c.regions[0].parts, 1);
    return c.regions.empty() ? 0 : c.regions[0].hbm_bytes / least;
  };
  for (const Target target : kTargets) {
    Builder groups("groups"), batches("batches"), rows("rows");
    groups.output("y", group_norm(groups, groups.input("x", {f32, {16, 64, 32, 32}}), 4));
    EXPECT_LT(bytes_over(compile(groups.finish(), {.target = target}), 2.0 * 4 * 16 * 64 * 1024), 1.05);
    const Expr x = batches.input("x", {f32, {32, 64, 32, 32}}), gain = batches.input("gain", {f32, {64, 1, 1}});
    batches.output("y", normed(x, {0, 2, 3}) * gain);
    EXPECT_LT(bytes_over(compile(batches.finish(), {.target = target}), 2.0 * 4 * 32 * 64 * 1024), 1.05);
    rows.output("y", soft(rows.input("x", {f32, {32, 48000}}), {1}));
    EXPECT_LT(bytes_over(compile(rows.finish(), {.target = target}), 2.0 * 4 * 32 * 48000), 1.05);
  }
}

}  // namespace
}  // namespace kiln::tensor
