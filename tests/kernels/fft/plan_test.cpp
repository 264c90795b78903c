#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/fft/host/plan.h"
#include "kernels/fft/host_dft.h"
#include "kiln/views/timed_kernel.h"
#include "tests/seed.h"

namespace kiln::fft {
namespace {

TEST(Plan, IsKeptAndExecutes) {
  clear_plans();
  const TransformConfig config{.n = 480, .rows = 3};
  const auto first = plan(config);
  EXPECT_EQ(first, plan(config));
  EXPECT_EQ(plan_count(), 1u);
  EXPECT_NE(first->way().kind, kernels::Way::Kind::bluestein);
  std::vector<float> x(3 * 960), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i * i)));
  execute(config, x.data(), y.data(), backend::Backend::simulator);
  for (std::size_t r = 0; r < 3; ++r) {
    std::vector<kernels::Complex> row(480);
    for (std::size_t j = 0; j < 480; ++j) row[j] = {x[960 * r + 2 * j], x[960 * r + 2 * j + 1]};
    const auto want = kernels::host_dft(row);
    for (std::size_t k = 0; k < 480; ++k) {
      EXPECT_NEAR(y[960 * r + 2 * k], want[k].real(), 1e-4);
      EXPECT_NEAR(y[960 * r + 2 * k + 1], want[k].imag(), 1e-4);
    }
  }
  EXPECT_EQ(backend::last_call().operation, "fft");
}

TEST(Plan, RealRowsOfEvenLengthsAreComplexOnesOfHalf) {
  const Plan plan({.n = 2 * 4099, .rows = 1, .spectrum = Spectrum::forward}, Target::trn2);
  EXPECT_TRUE(plan.way().halved);
  EXPECT_EQ(plan.computed().spectrum, Spectrum::forward);
}

// Half the columns of the first factor and half the rows that come of it, or two rows as one: predicted times.
TEST(Plan, RealRowsTakeAboutHalfTheTime) {
  const TransformConfig longer{.n = 1 << 16, .rows = 32}, single{.n = 1 << 20}, prime{.n = 4099, .rows = 128};
  for (const Target target : {Target::trn1, Target::trn2}) {
    for (TransformConfig c : {longer, single, prime}) {
      SCOPED_TRACE(std::to_string(c.n) + " on " + std::string(arch(target).name));
      const auto ns = [&](Spectrum spectrum) {
        c.spectrum = spectrum;
        return views::time_kernel({Plan(c, target).program(target)}, {.advice = false})->report.total_ns;
      };
      const double whole = ns(Spectrum::whole);
      EXPECT_LE(ns(Spectrum::forward), 0.6 * whole);
      EXPECT_LE(ns(Spectrum::inverse), 0.6 * whole);
    }
  }
}

TEST(Plan, RowsOfOddLengthsArePairs) {
  for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
    EXPECT_TRUE(Plan({.n = 4099, .rows = 32, .spectrum = spectrum}, Target::trn2).way().paired);
    EXPECT_FALSE(Plan({.n = 4099, .rows = 1, .spectrum = spectrum}, Target::trn2).way().paired);
  }
  EXPECT_TRUE(Plan({.n = 19683, .rows = 32, .spectrum = Spectrum::inverse}, Target::trn2).way().paired);
}

// With factors they go alone where that is sooner: half of the products are made, and nothing is taken apart.
TEST(Plan, RowsOfOddLengthsInOneTripGoAlone) {
  for (const std::int64_t n : {19683, 59049, 20001}) {
    for (const Spectrum spectrum : {Spectrum::forward, Spectrum::inverse}) {
      const Plan single({.n = n, .spectrum = spectrum}, Target::trn1),
          four({.n = n, .rows = 4, .spectrum = spectrum}, Target::trn2);
      EXPECT_EQ(single.computed().spectrum, spectrum);
      for (const Plan* plan : {&single, &four}) {
        EXPECT_TRUE(plan->way().one_trip) << n;
        EXPECT_FALSE(plan->way().paired) << n;
      }
    }
  }
}

// Finer products, in another launch and of another plan, are for rows that are not random.
TEST(Plan, RandomRowsAreOneLaunch) {
  std::mt19937 random(test::seed());
  for (const TransformConfig& c : {TransformConfig{.n = 64, .rows = 128},
                                   {.n = 206, .rows = 32, .spectrum = Spectrum::forward},
                                   {.n = 1024, .rows = 32},
                                   {.n = 1024, .rows = 32, .spectrum = Spectrum::inverse},
                                   {.n = 4096, .rows = 16},
                                   {.n = 4099, .rows = 8, .spectrum = Spectrum::forward},
                                   {.n = 8191, .rows = 4},
                                   {.n = 16384, .rows = 4},
                                   {.n = 16384, .rows = 4, .spectrum = Spectrum::inverse},
                                   {.n = 65536, .rows = 1, .spectrum = Spectrum::forward}}) {
    SCOPED_TRACE(c.n);
    std::vector<float> x(static_cast<std::size_t>(c.rows * c.x_width())),
        y(static_cast<std::size_t>(c.rows * c.y_width()));
    std::normal_distribution<float> normal;
    for (float& v : x) v = normal(random);
    clear_plans();
    execute(c, x.data(), y.data(), backend::Backend::simulator);
    EXPECT_EQ(plan_count(), 1u);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = i == 2 ? 0.3f : 0.0f;  // all results of the first row are alike
    if (c.n < 4099) continue;
    execute(c, x.data(), y.data(), backend::Backend::simulator);
    EXPECT_EQ(plan_count(), 2u);
  }
}

// What has factors is faster as a whole spectrum than as a convolution.
TEST(Plan, HalfSpectraOfOddLengthsMayBeWhole) {
  const Plan plan({.n = 27 * 19683, .rows = 1, .spectrum = Spectrum::inverse}, Target::trn2);
  EXPECT_EQ(plan.computed().spectrum, Spectrum::whole);
  EXPECT_TRUE(plan.computed().positive);
}

// Where the tensor engine runs at half its clock at first it is kept busy until rows are there, if they are many
// enough.
TEST(Plan, WarmsUpWhereThatIsSooner) {
  for (const Spectrum spectrum : {Spectrum::whole, Spectrum::forward, Spectrum::inverse}) {
    const TransformConfig longer{.n = 1 << 17, .spectrum = spectrum},
        many{.n = 1024, .rows = 128, .spectrum = spectrum};
    for (const TransformConfig& c : {longer, many}) {
      const Plan plan(c, Target::trn2);
      EXPECT_GT(plan.way().warm_up, 0);
      kernels::Way cold = plan.way();
      cold.warm_up = 0;
      const auto ns = [&](const kernels::Way& way) {
        return views::time_kernel({kernels::transform(c, way, Target::trn2)}, {.advice = false})->report.total_ns;
      };
      EXPECT_LT(ns(plan.way()), ns(cold) - 300);
      EXPECT_EQ(Plan(c, Target::trn1).way().warm_up, 0);
    }
  }
}

// Rader's convolution is half as long as Bluestein's; one row is too few for what its order costs.
TEST(Plan, PrimesGoTheFasterWay) {
  EXPECT_EQ(Plan({.n = 4051, .rows = 128}, Target::trn2).way().kind, kernels::Way::Kind::rader);
  EXPECT_EQ(Plan({.n = 4079, .rows = 128}, Target::trn2).way().kind, kernels::Way::Kind::bluestein);  // 2 * 2039
}

TEST(Plan, PairsOfCoresShareRowsAndSingleTransforms) {
  for (const TransformConfig& c : {TransformConfig{.n = 480, .rows = 7},
                                   {.n = 480, .rows = 2, .spectrum = Spectrum::forward},
                                   {.n = 2, .rows = 1},
                                   {.n = 100, .rows = 1},
                                   {.n = 101, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 100, .rows = 1, .spectrum = Spectrum::inverse},
                                   {.n = 4096, .rows = 1},
                                   {.n = 4096, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 4096, .rows = 1, .spectrum = Spectrum::inverse},
                                   {.n = 4050, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 4050, .rows = 1, .spectrum = Spectrum::inverse},
                                   {.n = 3375, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 3375, .rows = 1, .spectrum = Spectrum::inverse},
                                   {.n = 16384, .rows = 1},
                                   {.n = 16384, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 1031, .rows = 1},
                                   {.n = 1031, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 1031, .rows = 1, .spectrum = Spectrum::inverse},
                                   {.n = 8191, .rows = 1},
                                   {.n = 32768, .rows = 1},
                                   {.n = 32768, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 34000, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 65536, .rows = 1, .spectrum = Spectrum::inverse},
                                   {.n = 10007, .rows = 1},
                                   {.n = 15013, .rows = 1, .spectrum = Spectrum::forward},
                                   {.n = 2 * 10007, .rows = 1, .spectrum = Spectrum::inverse}}) {
    SCOPED_TRACE(c.n);
    std::vector<float> x(static_cast<std::size_t>(c.rows * c.x_width())),
        one(static_cast<std::size_t>(c.rows * c.y_width()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i * i)));
    std::vector<float> two(one.size());
    plan(c, Plan::Cores::pair)->execute(x.data(), one.data(), backend::Backend::simulator);  // the same way on one
    execute_pair(c, x.data(), two.data(), backend::Backend::simulator);
    EXPECT_TRUE(backend::last_call().make_second);
    EXPECT_NEAR(backend::predicted_ns(backend::last_call()), pair_ns(c), 1e-3);
    EXPECT_EQ(one, two);
  }
  const TransformConfig many{.n = 4096, .rows = 128}, large{.n = 1 << 20}, prime{.n = 524309},
      real{.n = 1 << 20, .spectrum = Spectrum::forward}, back{.n = 1 << 20, .spectrum = Spectrum::inverse};
  for (const TransformConfig& c : {many, large, prime, real, back}) {
    SCOPED_TRACE(c.n);
    const double alone = views::time_kernel({plan(c)->program(Target::trn2)}, {.advice = false})->report.total_ns;
    EXPECT_LT(pair_ns(c), 0.8 * alone);
  }
  EXPECT_THROW(
      execute_pair({.n = 1, .rows = 1, .spectrum = Spectrum::inverse}, nullptr, nullptr, backend::Backend::simulator),
      Error);
}

TEST(Plan, RefusesWhatItCannotDo) {
  EXPECT_THROW(Plan({.n = 0, .rows = 1}, Target::trn2), Error);
  EXPECT_THROW(Plan({.n = 8, .rows = 0}, Target::trn2), Error);
  EXPECT_THROW(Plan({.n = kernels::kLongest + 1, .rows = 1}, Target::trn2), Error);
}

}  // namespace
}  // namespace kiln::fft
