// The matmul kernel on one tensor-engine tile (k 128, m 128, n 512) beside OpenBLAS, all on one thread and
// interleaved in one run, so that clock changes and neighbours hit them alike. Prints the median GFLOP/s of
// each.
#include <cblas.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kiln/num/kernels.h"

namespace {

constexpr int kRounds = 31;
constexpr double kSecondsPerRound = 0.02;

struct Size {
  int k, m, n;

  double flops() const { return 2.0 * k * m * n; }
};

std::vector<float> random_floats(std::size_t n) {
  static std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(n);
  for (float& value : values) value = uniform(engine);
  return values;
}

// Operands of one product, K-major as the kernel wants them.
struct Product {
  explicit Product(Size size)
      : size(size),
        a(random_floats(static_cast<std::size_t>(size.k) * size.m)),
        b(random_floats(static_cast<std::size_t>(size.k) * size.n)),
        out(static_cast<std::size_t>(size.m) * size.n) {}

  void run_kernel(const kiln::Kernels& kernels) {
    kernels.matmul({kiln::DType::float32, a.data(), size.m}, {kiln::DType::float32, b.data(), size.n}, out.data(),
                   size.n, size.k, size.m, size.n, false, {});
  }
  void run_openblas() {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, size.m, size.n, size.k, 1, a.data(), size.m, b.data(), size.n,
                0, out.data(), size.n);
  }

  Size size;
  std::vector<float> a, b, out;
};

struct Contender {
  std::string name;
  double flops;
  std::function<void()> run;
  std::vector<double> gflops{};

  // Processor time, so that a busy machine does not count.
  void measure() {
    const std::clock_t start = std::clock();
    double seconds = 0;
    int runs = 0;
    for (; seconds < kSecondsPerRound; seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC) {
      run();
      ++runs;
    }
    gflops.push_back(runs * flops / seconds / 1e9);
  }
  double median() {
    std::ranges::nth_element(gflops, gflops.begin() + kRounds / 2);
    return gflops[kRounds / 2];
  }
};

}  // namespace

int main() {
  openblas_set_num_threads(1);
  Product tile({128, 128, 512});
  Product square({1024, 1024, 1024});
  std::vector<Contender> contenders{
      {"kiln     128x128x512", tile.size.flops(), [&] { tile.run_kernel(kiln::fast_kernels()); }},
      {"openblas 128x128x512", tile.size.flops(), [&] { tile.run_openblas(); }},
      {"openblas 1024^3", square.size.flops(), [&] { square.run_openblas(); }},
  };
  for (Contender& contender : contenders) contender.run();
  for (int round = 0; round < kRounds; ++round) {
    for (Contender& contender : contenders) contender.measure();
  }
  for (Contender& contender : contenders)
    std::printf("%-22s %7.1f GFLOP/s\n", contender.name.c_str(), contender.median());
}
