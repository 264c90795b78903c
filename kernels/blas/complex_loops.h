// ComplexLoops: products of complex matrices whose elements are neighbours in memory, real and imaginary part.
#pragma once

#include <optional>

#include "kernels/blas/complex_gemm.h"
#include "kernels/blas/product_block.h"
#include "kernels/blas/triangle.h"

namespace kiln::kernels {

// A complex matrix in HBM: [K, 2 X] with k_first, else [X, 2 K]; to be conjugated or not.
struct ComplexSource {
  isa::View matrix;
  bool k_first = true, conjugate = false;
};

// Factors of a result, alpha and beta; those given are read from `scalars` [1, 4].
class ComplexFactors {
 public:
  ComplexFactors(isa::Kernel& k, Scalar alpha, Scalar beta);
  bool reads_c() const { return beta_ != Scalar::zero; }
  // out [m, n, 2] in SBUF = alpha (re, im) + beta c; re and im [m, n], c as out.
  void apply(const isa::View& out, const isa::View& re, const isa::View& im, const isa::View& c) const;
  bool copies() const { return alpha_ == Scalar::one; }

 private:
  isa::View factor(int which, std::int64_t rows) const;
  void add_times(const isa::View& to, const isa::View& x, int which) const;

  isa::Kernel& k_;
  Scalar alpha_, beta_;
  isa::View factors_;  // [128, 6]: alpha, beta, and the imaginary parts once more, negative
};

struct ComplexProduct {
  ComplexSource a, b;
  isa::View from, to;  // [M, 2 N]; `from` counts only with a beta
  std::int64_t m, n, k;
  int products;                  // 3 or 4
  std::optional<Uplo> triangle;  // of the result: only this is computed, the rest is zero, the diagonal real
};
void multiply_complex(isa::Kernel& k, const ComplexFactors& factors, const ComplexProduct& product);

}  // namespace kiln::kernels
