#include <complex>

#include "example.h"
#include "programs.h"

using namespace kiln;
using namespace kiln::examples;

namespace {

void reference(const Sizes& s, Arrays& a) {
  const std::int64_t M = s[0], K = s[1], N = s[2];
  for (std::int64_t m = 0; m < M; ++m) {
    std::vector<std::complex<double>> row(N);
    for (std::int64_t k = 0; k < K; ++k) {
      const std::complex<double> x{a["a_re"][k * M + m], a["a_im"][k * M + m]};
      const float *b_re = &a["b_re"][k * N], *b_im = &a["b_im"][k * N];
      for (std::int64_t n = 0; n < N; ++n) row[n] += x * std::complex<double>{b_re[n], b_im[n]};
    }
    for (std::int64_t n = 0; n < N; ++n) {
      a["c_re"][m * N + n] = static_cast<float>(row[n].real());
      a["c_im"][m * N + n] = static_cast<float>(row[n].imag());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Example example{
      .name = "complex_gemm",
      .summary = "c[M, N] = transposed a[K, M] times b[K, N], complex numbers as real and imaginary arrays",
      .size_names = {"M", "K", "N"},
      .default_sizes = {200, 300, 600},
      .build = [](const Sizes& s, Target target) { return complex_gemm(s[0], s[1], s[2], target); },
      .reference = reference,
  };
  return run_example(example, argc, argv);
}
