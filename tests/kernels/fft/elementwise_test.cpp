#include <gtest/gtest.h>

#include <cmath>

#include "kernels/fft/elementwise.h"
#include "kernels/fft/frames.h"
#include "kernels/fft/roots.h"
#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

TEST(ComplexMultiply, AnyCount) {
  Random random;
  int turn = 0;
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{127}, std::int64_t{131072}, random.size(1, 200000)}) {
    SCOPED_TRACE("count " + std::to_string(count) + " seed " + std::to_string(random.seed()));
    const Matrix x = random.matrix(1, 2 * count), t = random.matrix(1, 2 * count);
    Matrix want(1, 2 * count), bound = want;
    for (std::int64_t i = 0; i < count; ++i) {
      const Complex a(x(0, 2 * i), x(0, 2 * i + 1)), b(t(0, 2 * i), t(0, 2 * i + 1)), c = a * b;
      want(0, 2 * i) = c.real(), want(0, 2 * i + 1) = c.imag();
      bound(0, 2 * i) = bound(0, 2 * i + 1) = 4 * epsilon(DType::float32) * std::abs(a) * std::abs(b) + 1e-300;
    }
    expect_within(run(complex_multiply(count, kTargets[turn++ % 3]), {{"x", x}, {"t", t}})["y"], want, bound, "y");
    expect_legal([&](Target target) { return complex_multiply(count, target); });
  }
}

TEST(ModRelu, AnyShapeAndZero) {
  Random random;
  for (const Target target : kTargets) {
    const std::int64_t rows = random.size(1, 300), features = random.size(1, 1500);
    SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(features) + " seed " + std::to_string(random.seed()));
    Matrix x = random.matrix(rows, 2 * features);
    x(0, 0) = x(0, 1) = 0;
    const Matrix bias = random.matrix(1, features);
    Matrix want(rows, 2 * features), bound = want;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t f = 0; f < features; ++f) {
        const Complex z(x(r, 2 * f), x(r, 2 * f + 1));
        const double size = std::max(std::abs(z), 1e-8);
        const Complex y = std::max(size + bias(0, f), 0.0) / size * z;
        want(r, 2 * f) = y.real(), want(r, 2 * f + 1) = y.imag();
        bound(r, 2 * f) = bound(r, 2 * f + 1) = 1e-5 * (std::abs(z) + std::abs(bias(0, f))) + 1e-300;
      }
    }
    expect_within(run(mod_relu(rows, features, target), {{"x", x}, {"bias", bias}})["y"], want, bound, "y");
  }
}

// Against differences of the forward formula in double.
TEST(ModRelu, BackwardOfAnyShape) {
  Random random;
  for (const Target target : kTargets) {
    const std::int64_t rows = random.size(1, 300), features = random.size(1, 700);
    SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(features) + " seed " + std::to_string(random.seed()));
    Matrix x = random.matrix(rows, 2 * features);
    x(0, 0) = x(0, 1) = 0;
    const Matrix bias = random.matrix(1, features), gradient = random.matrix(rows, 2 * features);
    Matrix dx(rows, 2 * features), bound = dx, dbias(1, features), bias_bound = dbias;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t f = 0; f < features; ++f) {
        const Complex z(x(r, 2 * f), x(r, 2 * f + 1)), g(gradient(r, 2 * f), gradient(r, 2 * f + 1));
        const double size = std::max(std::abs(z), 1e-8), b = bias(0, f), shifted = size + b;
        const double dot = (z * std::conj(g)).real(), active = shifted > 0 ? 1 : 0;
        const Complex along = std::abs(z) >= 1e-8 ? active * b * dot / (size * size * size) * z : Complex(0);
        const Complex want = std::max(shifted, 0.0) / size * g - along;
        dx(r, 2 * f) = want.real(), dx(r, 2 * f + 1) = want.imag();
        bound(r, 2 * f) = bound(r, 2 * f + 1) = 1e-5 * (1 + std::abs(b) / size) * std::abs(g) + 1e-300;
        dbias(0, f) += active * dot / size;
        bias_bound(0, f) += 1e-5 * std::abs(g);
      }
    }
    const Arrays got =
        run(mod_relu_backward(rows, features, target), {{"x", x}, {"bias", bias}, {"gradient", gradient}});
    expect_within(got.at("dx"), dx, bound, "dx");
    expect_within(got.at("dbias"), dbias, bias_bound, "dbias");
  }
}

// A sample of a signal with its borders.
double bordered(const FramesConfig& c, const Matrix& x, std::int64_t row, std::int64_t i) {
  const std::int64_t samples = c.samples / c.unit, part = i % c.unit;
  std::int64_t s = i / c.unit - c.pad / c.unit;
  if (s < 0 || s >= samples) {
    if (c.border == Border::zeros) return 0;
    if (c.border == Border::replicate) s = s < 0 ? 0 : samples - 1;
    if (c.border == Border::circular) s = (s + samples) % samples;
    if (c.border == Border::reflect) s = s < 0 ? -s : 2 * (samples - 1) - s;
  }
  return x(row, s * c.unit + part);
}

TEST(Frames, BordersAndWeights) {
  Random random;
  int turn = 0;
  for (const Border border : {Border::zeros, Border::reflect, Border::replicate, Border::circular}) {
    for (const bool weighs : {false, true}) {
      const std::int64_t unit = random.size(1, 2), pad = random.size(1, 1500), samples = pad + random.size(1, 900);
      FramesConfig c{.rows = random.size(1, 3),
                     .samples = unit * samples,
                     .size = random.size(1, std::min<std::int64_t>(200, unit * (samples + 2 * pad))),
                     .hop = random.size(1, 90),
                     .width = random.size(1, 40),
                     .border = border,
                     .pad = unit * pad,
                     .unit = unit};
      if (weighs) c.first = random.size(0, c.frames() * c.width - 1);
      if (weighs) c.kept = random.size(1, c.frames() * c.width - c.first + 20);
      SCOPED_TRACE(std::to_string(static_cast<int>(border)) + " " + std::to_string(c.rows) + " rows of " +
                   std::to_string(c.samples) + " seed " + std::to_string(random.seed()));
      const Matrix x = random.matrix(c.rows, c.samples), matrix = random.matrix(c.size, c.width);
      const Matrix weight = random.matrix(1, std::max<std::int64_t>(1, c.kept));
      Matrix frames(c.rows * c.frames(), c.size);
      for (std::int64_t r = 0; r < frames.rows; ++r) {
        for (std::int64_t j = 0; j < c.size; ++j)
          frames(r, j) = bordered(c, x, r / c.frames(), r % c.frames() * c.hop + j);
      }
      Matrix want = product(frames, matrix), bound = product(magnitudes(frames), magnitudes(matrix));
      for (double& b : bound.values)
        b = 4 * std::sqrt(static_cast<double>(c.size)) * epsilon(DType::float32) * b + 1e-300;
      Arrays inputs{{"x", x}, {"matrix", matrix}};
      if (weighs) {
        inputs["weight"] = weight;
        Matrix kept(c.rows, c.kept), limit = kept;
        const std::int64_t total = c.frames() * c.width;
        for (std::int64_t r = 0; r < c.rows; ++r) {
          for (std::int64_t i = 0; i < c.kept; ++i) {
            const auto at = static_cast<std::size_t>(r * total + c.first + i);
            if (c.first + i >= total) continue;
            kept(r, i) = want.values[at] * weight(0, i);
            limit(r, i) = 2 * bound.values[at] * std::abs(weight(0, i));
          }
        }
        want = kept, bound = limit;
      }
      Matrix got = run(frames_product(c, kTargets[turn++ % 3]), inputs)["y"];
      got.rows = want.rows, got.columns = want.columns;
      expect_within(got, want, bound, "y");
    }
  }
}

TEST(Frames, AllOfThemWithTails) {
  Random random;
  int turn = 0;
  for (int i = 0; i < 6; ++i) {
    FramesConfig c{.rows = random.size(1, 3),
                   .size = random.size(1, 400),
                   .hop = random.size(1, 90),
                   .width = random.size(1, 600)};
    c.samples = c.size + random.size(0, 20000 / c.rows);
    SCOPED_TRACE(std::to_string(c.rows) + " rows of " + std::to_string(c.samples) + ", frames of " +
                 std::to_string(c.size) + " hop " + std::to_string(c.hop) + " seed " + std::to_string(random.seed()));
    const Matrix x = random.matrix(c.rows, c.samples), matrix = random.matrix(c.size, c.width);
    Matrix frames(c.rows * c.frames(), c.size);
    for (std::int64_t r = 0; r < frames.rows; ++r) {
      for (std::int64_t j = 0; j < c.size; ++j) frames(r, j) = x(r / c.frames(), r % c.frames() * c.hop + j);
    }
    const Matrix want = product(frames, matrix);
    Matrix bound = product(magnitudes(frames), magnitudes(matrix));
    for (double& b : bound.values) b *= 4 * std::sqrt(static_cast<double>(c.size)) * epsilon(DType::float32);
    Matrix got = run(frames_product(c, kTargets[turn++ % 3]), {{"x", x}, {"matrix", matrix}})["y"];
    got.rows = want.rows, got.columns = want.columns;
    expect_within(got, want, bound, "y");
  }
}

}  // namespace
}  // namespace kiln::kernels::test
