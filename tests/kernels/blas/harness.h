// What the tests of device kernels share: random matrices in float64, a run on poisoned outputs, legality on every
// target.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::kernels::test {

inline constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

struct Matrix {
  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t columns) : rows(rows), columns(columns), values(rows * columns) {}
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;
  double& operator()(std::int64_t r, std::int64_t c) { return values[r * columns + c]; }
  double operator()(std::int64_t r, std::int64_t c) const { return values[r * columns + c]; }
};

Matrix transposed(const Matrix& a);
Matrix product(const Matrix& a, const Matrix& b);
Matrix magnitudes(const Matrix& a);

// A source of random sizes and matrices, from the seed of random tests (tests/seed.h).
class Random {
 public:
  Random();
  unsigned seed() const { return seed_; }
  std::int64_t size(std::int64_t low, std::int64_t high);
  // Normally distributed, each a value of `dtype`.
  Matrix matrix(std::int64_t rows, std::int64_t columns, DType dtype = DType::float32);
  double number();

 private:
  unsigned seed_;
  std::mt19937 generator_;
};

using Arrays = std::map<std::string, Matrix>;

// Checks that a program is legal (a warning is a failure too), and runs it with NaN in every output. Returns the
// outputs. A run that warns (of NaN that it made) is a failure unless it `may_warn`.
Arrays run(const isa::Program& program, const Arrays& inputs, bool may_warn = false);
// Whether it is legal on its target without a warning; says why not.
void expect_legal(const isa::Program& program);
// The same for what `build` makes on every target.
void expect_legal(const std::function<isa::Program(Target)>& build);

// |got - want| <= bound everywhere; NaN fails.
void expect_within(const Matrix& got, const Matrix& want, const Matrix& bound, const std::string& what);

double epsilon(DType dtype);

}  // namespace kiln::kernels::test
