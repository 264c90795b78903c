// PrecisionScope: in which precision the kernels of symm, trmm, trsm and potrf make the products of float matrices, for
// this thread as long as it lives. Native computes in float32.
#pragma once

#include "kernels/blas/gemm.h"
#include "kernels/blas/host/blas.h"

namespace kiln::blas {

class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  kernels::Precision before_;
};
kernels::Precision precision_of_scope();

}  // namespace kiln::blas
