// DoubleSteps: complex transforms beyond float32, a product with sliced operands (double_gemm.h) for each factor of a
// length, and twiddles that are sums of two float32 numbers between them; from HBM to HBM in one program.
//
// Rows are planes, all real parts and then all imaginary ones, so that numbers j = j1 rest + J of a row are a matrix
// [2 n1, rest] as they lie. With n = n1 … ns, k = k1 + n1 k2 + n1 n2 k3 + …, step t makes of [part][jt][J][row][k] with
// k = (k1 … kt-1) all of [part][J][row][kt][k]. The first step has the data as its stationary operand, which turns
// them: each row of it is a run of numbers k1 in what is stored. In the others the matrix of the factor is stationary.
//
// What slices keep of a number is 2^-48 of 1, however small it is, so rows come with a norm of at most 1 and every step
// is divided by the root of its factor: unitary, so that no number ever exceeds 1. Powers of two of these roots are in
// the twiddles, the rest in the matrices; what the last step has too much is part of gain().
#pragma once

#include "kernels/blas/double_loops.h"
#include "kernels/fft/double_complex.h"
#include "kernels/fft/table.h"

namespace kiln::kernels {

inline constexpr std::int64_t kMostDoubleFactor = 256;  // both parts of its results fill a bank of PSUM

class DoubleFactors {
 public:
  // As few factors as there can be; those with the smallest sum of them, the largest first. None where n has a prime
  // factor that is too large.
  explicit DoubleFactors(std::int64_t n, bool positive = false, std::string prefix = {});
  struct Step {
    std::int64_t n, rest, before;  // the factor, the product of those after it and of those before it
    int halvings;                  // half the logarithm of n, rounded down
  };
  bool is_possible() const { return !steps_.empty(); }
  const std::vector<Step>& steps() const { return steps_; }
  std::int64_t n() const { return n_; }
  std::string name(const char* what, std::size_t step) const { return prefix_ + what + std::to_string(step) + "_"; }
  // What DoubleSteps makes is this times the transform, which would be unitary if it were divided by last_power().
  double gain() const;
  double last_power() const { return static_cast<double>(std::int64_t{1} << steps_.back().halvings); }
  Tables tables() const;

 private:
  void add_matrix(Tables& tables, std::size_t step) const;
  void add_twiddles(Tables& tables, std::size_t step) const;

  std::int64_t n_;
  bool positive_;
  std::string prefix_;
  std::vector<Step> steps_;
};

// Adds a table of doubles, as two of float32 under name + "0" and name + "1".
void add_double_table(Tables& tables, const std::string& name, std::int64_t rows, std::int64_t columns,
                      const std::vector<double>& values);
// The same as inputs of a kernel.
DoubleView double_input(isa::Kernel& k, const std::string& name, const isa::Shape& shape);
DoubleView double_hbm(isa::Kernel& k, const isa::Shape& shape);

// y = the transforms of the rows of x, both [rows, 2 n] in HBM.
void double_steps(isa::Kernel& k, const DoubleFactors& factors, const DoubleView& x, const DoubleView& y);

}  // namespace kiln::kernels
