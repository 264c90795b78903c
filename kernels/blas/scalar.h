// Scalar: a factor of a BLAS routine. What a program does without (a product with one, a read of a matrix that counts
// for nothing) is known when it is built; any other factor is read when it runs, so one program serves all values.
//
// A program with a factor that is `given` has the input `scalars` [1, 2] float32: alpha, beta.
#pragma once

#include <cstdint>

namespace kiln::kernels {

enum class Scalar : std::uint8_t { zero, one, given };

// The kind that serves this value.
constexpr Scalar scalar_of(double value) {
  return value == 0 ? Scalar::zero : value == 1 ? Scalar::one : Scalar::given;
}

}  // namespace kiln::kernels
