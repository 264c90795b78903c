#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kiln/num/fast/fast.h"
#include "kiln/num/plain/plain.h"
#include "tests/num/each_target.h"
#include "tests/num/random_rows.h"

namespace kiln {
namespace {

using Random = std::mt19937;
using Kernel = decltype(Kernels::activation);

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Random make_random() { return Random(static_cast<unsigned>(test::seed())); }

bool same(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (std::isnan(x) && std::isnan(y));
}

// Both zeros, both infinities, NaNs, and the ends of the subnormal and normal ranges.
std::vector<float> specials() {
  std::vector<float> values;
  for (const std::uint32_t magnitude :
       {0x0u, 0x1u, 0x7fffffu, 0x800000u, 0x3f800000u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u, 0x7f800001u}) {
    values.push_back(std::bit_cast<float>(magnitude));
    values.push_back(std::bit_cast<float>(magnitude | 0x80000000u));
  }
  return values;
}

// Every 997th bit pattern from a random first one, the special values, and the neighbourhood of zero where
// the functions bend.
std::vector<float> samples(Random& random) {
  std::vector<float> values = specials();
  for (std::uint64_t pattern = random() % 997; pattern < 0x100000000u; pattern += 997) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
  }
  std::uniform_real_distribution<float> bend(-16, 16);
  for (int i = 0; i < 500'000; ++i) values.push_back(bend(random));
  return values;
}

template <class Check>
void for_each_function(Check check) {
  for (int i = 0; i < kActFnCount && !testing::Test::HasFatalFailure(); ++i) {
    const auto fn = static_cast<ActFn>(i);
    SCOPED_TRACE(name(fn));
    check(fn);
  }
}

void expect_same(const std::vector<float>& x, const std::vector<float>& want, const std::vector<float>& got) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(same(want[i], got[i])) << std::hexfloat << "element " << i << " of " << want.size() << ", x " << x[i]
                                       << ": " << want[i] << " wanted, " << got[i] << " found";
  }
}

constexpr std::uint32_t kNotTold = ~0u;  // of the largest magnitude

class FastActivation : public test::EachTarget {
 protected:
  Random random_ = make_random();
};
INSTANTIATE_TEST_SUITE_P(Targets, FastActivation, testing::ValuesIn(test::targets_of_this_cpu()), test::target_name);

TEST_P(FastActivation, EqualsPlainOnAllKindsOfNumbers) {
  const std::vector<float> x = samples(random_);
  std::vector<float> plain(x.size()), fast(x.size());
  for_each_function([&](ActFn fn) {
    plain::activation(fn, x.data(), 0.3f, plain.data(), x.size());
    fast::activation(fn, x.data(), 0.3f, fast.data(), x.size());
    expect_same(x, plain, fast);
  });
}

TEST_P(FastActivation, ScaledEqualsPlain) {
  std::vector<float> x = samples(random_);
  std::shuffle(x.begin(), x.end(), random_);
  x.resize(200'000);
  std::vector<float> plain(x.size()), fast(x.size());
  std::normal_distribution<float> normal;
  int told = 0;
  for_each_function([&](ActFn fn) {
    const float scale = normal(random_), bias = normal(random_), param = normal(random_);
    plain::scaled_activation(fn, x.data(), scale, bias, param, plain.data(), x.size());
    const auto largest = fast::scaled_activation(fn, x.data(), scale, bias, param, fast.data(), x.size());
    expect_same(x, plain, fast);
    EXPECT_TRUE(largest == kNotTold || largest == plain::largest(sizeof(float), fast.data(), 1, x.size())) << name(fn);
    told += largest != kNotTold;
  });
  EXPECT_GT(told, 0);
}

TEST_P(FastActivation, EveryLengthInPlaceAndNoFurther) {
  const std::size_t kGuard = 40;
  std::uniform_real_distribution<float> some(-4, 4);
  for_each_function([&](ActFn fn) {
    for (std::size_t n = 0; n <= 70; ++n) {
      std::vector<float> x(n + kGuard);
      for (float& value : x) value = some(random_);
      std::vector<float> want = x, got = x;
      plain::activation(fn, x.data(), -0.5f, want.data(), n);
      const std::uint32_t largest = fast::activation(fn, got.data(), -0.5f, got.data(), n);
      expect_same(x, want, got);
      EXPECT_TRUE(largest == kNotTold || largest == plain::largest(sizeof(float), got.data(), 1, n)) << name(fn);
    }
  });
}

TEST(PlainActivation, ScaledRoundsTheProductAndTheSum) {
  Random random = make_random();
  std::normal_distribution<float> normal;
  for_each_function([&](ActFn fn) {
    for (int i = 0; i < 1000; ++i) {
      const float x = normal(random), scale = normal(random), bias = normal(random), param = normal(random);
      const float product = x * scale;
      const float sum = product + bias;
      float want = 0, got = 0;
      plain::activation(fn, &sum, param, &want, 1);
      plain::scaled_activation(fn, &x, scale, bias, param, &got, 1);
      ASSERT_TRUE(same(want, got)) << x << " * " << scale << " + " << bias;
    }
  });
}

TEST(PlainActivation, CopyKeepsEveryBit) {
  for (const Kernel kernel : {plain::activation, fast::activation}) {
    for (const float x : specials()) {
      float out = 1;
      kernel(ActFn::copy, &x, 0, &out, 1);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(out), std::bit_cast<std::uint32_t>(x));
    }
  }
}

// f(-Inf), f(-0), f(+0), f(+Inf)
struct Corners {
  ActFn fn;
  float values[4];
};
constexpr Corners kCorners[] = {
    {ActFn::square, {kInf, 0, 0, kInf}},
    {ActFn::sigmoid, {0, 0.5f, 0.5f, 1}},
    {ActFn::relu, {0, 0, 0, kInf}},
    {ActFn::prelu, {-kInf, -0.0f, 0, kInf}},
    {ActFn::gelu, {-0.0f, -0.0f, 0, kInf}},
    {ActFn::gelu_dx, {-0.0f, 0.5f, 0.5f, 1}},
    {ActFn::gelu_apprx_tanh, {-0.0f, -0.0f, 0, kInf}},
    {ActFn::gelu_apprx_sigmoid, {-0.0f, -0.0f, 0, kInf}},
    {ActFn::gelu_apprx_sigmoid_dx, {-0.0f, 0.5f, 0.5f, 1}},
    {ActFn::silu, {-0.0f, -0.0f, 0, kInf}},
    {ActFn::silu_dx, {-0.0f, 0.5f, 0.5f, 1}},
    {ActFn::tanh, {-1, -0.0f, 0, 1}},
    {ActFn::softplus, {0, 0x1.62e43p-1f, 0x1.62e43p-1f, kInf}},
    {ActFn::mish, {-0.0f, -0.0f, 0, kInf}},
    {ActFn::erf, {-1, -0.0f, 0, 1}},
    {ActFn::erf_dx, {0, 0x1.20dd76p0f, 0x1.20dd76p0f, 0}},
    {ActFn::exp, {0, 1, 1, kInf}},
    {ActFn::log, {kNaN, -kInf, -kInf, kInf}},
    {ActFn::sin, {-kInf, -0.0f, 0, kInf}},
    {ActFn::arctan, {-0x1.921fb6p0f, -0.0f, 0, 0x1.921fb6p0f}},
    {ActFn::sqrt, {kNaN, -0.0f, 0, kInf}},
    {ActFn::rsqrt, {kNaN, -kInf, kInf, 0}},
    {ActFn::reciprocal, {-0.0f, -kInf, kInf, 0}},
    {ActFn::sign, {-1, 0, 0, 1}},
    {ActFn::abs, {kInf, 0, 0, kInf}},
};

TEST(PlainActivation, ZerosAndLimits) {
  const float x[4] = {-kInf, -0.0f, 0.0f, kInf};
  EXPECT_EQ(std::size(kCorners) + 1, static_cast<std::size_t>(kActFnCount));  // all but copy
  for (const Corners& corners : kCorners) {
    float out[4];
    plain::activation(corners.fn, x, 0.25f, out, 4);
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(same(out[i], corners.values[i])) << name(corners.fn) << " of " << x[i] << " is " << out[i];
    }
  }
}

TEST(PlainActivation, NanStaysNan) {
  for_each_function([](ActFn fn) {
    float out = 0;
    plain::activation(fn, &kNaN, 0.25f, &out, 1);
    EXPECT_TRUE(std::isnan(out));
  });
}

// The one value that the manual publishes outside a range.
TEST(PlainActivation, SineOfNineIsExtrapolated) {
  const float x[2] = {9.0f, -9.0f};
  float out[2];
  plain::activation(ActFn::sin, x, 0, out, 2);
  EXPECT_NEAR(out[0], 27.65f, 0.005f);
  EXPECT_EQ(out[1], -out[0]);
}

}  // namespace
}  // namespace kiln
