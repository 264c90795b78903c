#include "tests/kernels/blas/harness.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kiln/check/check_program.h"
#include "kiln/sim/machine.h"
#include "tests/seed.h"

namespace kiln::kernels::test {

Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) t(c, r) = a(r, c);
  }
  return t;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix p(a.rows, b.columns);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t i = 0; i < a.columns; ++i) {
      for (std::int64_t c = 0; c < b.columns; ++c) p(r, c) += a(r, i) * b(i, c);
    }
  }
  return p;
}

Matrix magnitudes(const Matrix& a) {
  Matrix m = a;
  for (double& x : m.values) x = std::abs(x);
  return m;
}

Random::Random() {
  seed_ = static_cast<unsigned>(kiln::test::seed());
  generator_.seed(seed_);
}

std::int64_t Random::size(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
}

double Random::number() { return std::normal_distribution<float>()(generator_); }

Matrix Random::matrix(std::int64_t rows, std::int64_t columns, DType dtype) {
  Matrix m(rows, columns);
  for (double& x : m.values) x = to_float(dtype, from_float(dtype, static_cast<float>(number())));
  return m;
}

namespace {

std::vector<std::byte> bytes_of(const Matrix& m, DType dtype) {
  const std::size_t size = size_bytes(dtype);
  std::vector<std::byte> bytes(m.values.size() * size);
  for (std::size_t i = 0; i < m.values.size(); ++i)
    store_bits(dtype, from_float(dtype, static_cast<float>(m.values[i])), bytes.data() + i * size);
  return bytes;
}

Matrix matrix_of(const isa::Tensor& t, const std::vector<std::byte>& bytes) {
  const std::int64_t columns = t.shape.back();
  Matrix m(t.size() / columns, columns);
  for (std::size_t i = 0; i < m.values.size(); ++i)
    m.values[i] = to_float(t.dtype, load_bits(t.dtype, bytes.data() + i * size_bytes(t.dtype)));
  return m;
}

}  // namespace

void expect_legal(const isa::Program& program) {
  const check::Report report = check::check_program(program, arch(program.target));
  EXPECT_TRUE(report.diagnostics.empty()) << arch(program.target).name << "\n" << to_text(report.diagnostics);
}

void expect_legal(const std::function<isa::Program(Target)>& build) {
  for (const Target target : kTargets) expect_legal(build(target));
}

Arrays run(const isa::Program& program, const Arrays& inputs, bool may_warn) {
  expect_legal(program);
  std::map<std::string, std::vector<std::byte>> memory;
  sim::Buffers buffers;
  for (const isa::Tensor& t : program.tensors) {
    if (t.role == isa::Role::internal) continue;
    auto& bytes = memory[t.name];
    if (t.role == isa::Role::input) {
      EXPECT_TRUE(inputs.contains(t.name)) << t.name;
      bytes = bytes_of(inputs.at(t.name), t.dtype);
      EXPECT_EQ(static_cast<std::int64_t>(inputs.at(t.name).values.size()), t.size()) << t.name;
    } else {
      Matrix poison(1, t.size());
      for (double& x : poison.values) x = std::numeric_limits<double>::quiet_NaN();
      bytes = bytes_of(poison, t.dtype);
    }
    buffers[t.name] = {bytes.data(), bytes.size()};
  }
  const sim::RunReport report = sim::run(program, arch(program.target), buffers);
  EXPECT_TRUE(may_warn || report.warnings.empty()) << to_text(report.warnings);
  Arrays outputs;
  for (const isa::Tensor& t : program.tensors) {
    if (t.role == isa::Role::output) outputs[t.name] = matrix_of(t, memory[t.name]);
  }
  return outputs;
}

void expect_within(const Matrix& got, const Matrix& want, const Matrix& bound, const std::string& what) {
  ASSERT_EQ(got.values.size(), want.values.size()) << what;
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double off = std::abs(got.values[i] - want.values[i]);
    const double ratio = off == 0 ? 0 : off / bound.values[i];
    if (!(ratio <= worst)) worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio, at = i;
  }
  EXPECT_LE(worst, 1) << what << ": [" << at / got.columns << ", " << at % got.columns << "] is " << got.values[at]
                      << ", not " << want.values[at];
}

double epsilon(DType dtype) { return std::ldexp(1.0, -info(dtype).mantissa_bits); }

}  // namespace kiln::kernels::test
