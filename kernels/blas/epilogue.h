// Epilogue: what happens to the sums of a block on their way from PSUM to the result: alpha, beta, the one rounding.
#pragma once

#include "kernels/blas/product_block.h"
#include "kernels/blas/scalar.h"

namespace kiln::kernels {

class Epilogue {
 public:
  // Declares `scalars` where a factor is given and loads it to all partitions.
  Epilogue(isa::Kernel& k, Scalar alpha, Scalar beta);
  bool reads_c() const { return beta_ != Scalar::zero; }
  // The result is the sums.
  bool is_plain() const { return alpha_ == Scalar::one && beta_ == Scalar::zero; }

  // to = alpha sums + beta from, both m x n in HBM; `from` counts only with a beta.
  void store(const ProductBlock& block, const isa::View& to, const isa::View& from) const;
  // One tile: out = alpha sum + beta c; c is in SBUF and may be out itself.
  void apply(const isa::View& out, const isa::View& sum, const isa::View& c, std::size_t turn) const;

 private:
  isa::View factor(int which, std::int64_t rows) const { return factors_(isa::ds(0, rows), isa::ds(which, 1)); }
  void scale(const isa::View& out, const isa::View& sum, std::size_t turn) const;

  isa::Kernel& k_;
  Scalar alpha_, beta_;
  isa::View factors_;  // [128, 2]
};

}  // namespace kiln::kernels
