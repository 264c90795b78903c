#include "kernels/blas/host/precision_scope.h"

namespace kiln::blas {
namespace {
thread_local kernels::Precision current = kernels::Precision::native;
}  // namespace

PrecisionScope::PrecisionScope(Precision precision) : before_(current) {
  current = static_cast<kernels::Precision>(precision);
}
PrecisionScope::~PrecisionScope() { current = before_; }

kernels::Precision precision_of_scope() { return current; }

}  // namespace kiln::blas
