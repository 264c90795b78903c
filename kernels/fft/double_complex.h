// DoubleComplex: tiles of complex numbers whose parts are sums of two float32 numbers.
#pragma once

#include "kernels/blas/double_float.h"

namespace kiln::kernels {

struct DoubleComplex {
  DoubleView re, im;
};

// Right to 2^-42 |x| |y|.
inline DoubleComplex times(DoubleFloat& math, const DoubleComplex& x, const DoubleComplex& y) {
  return {math.difference(math.product(x.re, y.re), math.product(x.im, y.im)),
          math.sum(math.product(x.re, y.im), math.product(x.im, y.re))};
}

}  // namespace kiln::kernels
