#include "example.h"
#include "programs.h"

using namespace kiln;
using namespace kiln::examples;

namespace {

void reference(const Sizes& s, Arrays& arrays) {
  const std::int64_t M = s[0], K = s[1], N = s[2];
  const auto &a_t = arrays["a_t"], &b = arrays["b"];
  for (std::int64_t m = 0; m < M; ++m) {
    std::vector<double> row(N);
    for (std::int64_t k = 0; k < K; ++k) {
      for (std::int64_t n = 0; n < N; ++n) row[n] += double{a_t[k * M + m]} * b[k * N + n];
    }
    for (std::int64_t n = 0; n < N; ++n) arrays["c"][m * N + n] = static_cast<float>(row[n]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Example example{
      .name = "gemm",
      .summary = "c[M, N] = transposed a_t[K, M] times b[K, N] in float32",
      .size_names = {"M", "K", "N"},
      .default_sizes = {300, 500, 700},
      .build = [](const Sizes& s, Target t) { return gemm(s[0], s[1], s[2], DType::float32, t); },
      .reference = reference,
  };
  return run_example(example, argc, argv);
}
