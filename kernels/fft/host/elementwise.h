// What is done to complex numbers one by one, to frames and to matrices, on a backend that is not native.
#pragma once

#include "kernels/backend/call.h"
#include "kernels/fft/frames.h"

namespace kiln::fft {

// z = x y, `count` numbers each.
void complex_multiply(std::int64_t count, const float* x, const float* y, float* z, backend::Backend backend);
// y = relu(|x| + bias) x / |x|, rows of `features` numbers; |x| counts as at least 1e-8.
void mod_relu(std::int64_t rows, std::int64_t features, const float* x, const float* bias, float* y,
              backend::Backend backend);
// What a change of y by `gradient` is of x and of the bias.
void mod_relu_backward(std::int64_t rows, std::int64_t features, const float* x, const float* bias,
                       const float* gradient, float* dx, float* dbias, backend::Backend backend);

// The same for sums of two numbers, as kernels/fft/elementwise_double.h says; [0] and [1] are the two parts.
struct ConstPair {
  const float* part[2];
};
struct Pair {
  float* part[2];
};
void complex_multiply_double(std::int64_t count, const ConstPair& x, const ConstPair& y, const Pair& z,
                             backend::Backend backend);
void mod_relu_double(std::int64_t count, const ConstPair& x, const float* ratio, const ConstPair& bias,
                     const ConstPair& least, const Pair& y, backend::Backend backend);

// Spectra of frames, and frames of spectra added up, as kernels/fft/frames.h says; weight counts where config keeps
// some.
using kernels::FramesConfig;
void frames_product(const FramesConfig& config, const float* x, const float* matrix, const float* weight, float* y,
                    backend::Backend backend);

// c = a b with 3 or 4 real products, [m, k] [k, n]; BLAS has the transposed forms.
void complex_gemm(std::int64_t m, std::int64_t n, std::int64_t k, int products, const float* a, const float* b,
                  float* c, backend::Backend backend);

// Tell of calls that were computed natively.
void note_complex_multiply(std::int64_t count);
void note_mod_relu(std::int64_t rows, std::int64_t features);
void note_frames_product(const FramesConfig& config);

}  // namespace kiln::fft
