#include "parts.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <random>

#include "kiln/check/check_program.h"
#include "kiln/sim/machine.h"

namespace kiln::examples::ranks {
using namespace isa;

Groups everyone(int ranks) {
  Groups groups(1);
  for (int rank = 0; rank < ranks; ++rank) groups[0].push_back(rank);
  return groups;
}

View shared(Kernel& k, const std::string& name, Shape shape) {
  return k.tensor(Memory::shared_hbm, Role::internal, std::move(shape), DType::float32, {name});
}

void product(Kernel& k, const View& out, const View& a_transposed, const View& b, bool relu) {
  const std::int64_t depth = b.shape()[0];
  k.tiles(out.shape()[1], 512, [&](Index n0, std::int64_t n) {
    k.tiles(out.shape()[0], 128, [&](Index m0, std::int64_t m) {
      const View sum = k.psum({m, n}, DType::float32), tile = k.sbuf({m, n}, DType::float32);
      k.tiles(depth, 128, [&](Index k0, std::int64_t rows) {
        const View stationary = k.sbuf({rows, m}, DType::float32), moving = k.sbuf({rows, n}, DType::float32);
        k.dma_copy({.dst = stationary, .src = a_transposed(ds(k0, rows), ds(m0, m))});
        k.dma_copy({.dst = moving, .src = b(ds(k0, rows), ds(n0, n))});
        k.nc_matmul({.dst = sum, .stationary = stationary, .moving = moving});
      });
      if (relu) {
        k.tensor_scalar({.dst = tile, .data = sum, .op0 = AluOp::maximum, .operand0 = 0.0});
      } else {
        k.tensor_copy({.dst = tile, .src = sum});
      }
      k.dma_copy({.dst = out(ds(m0, m), ds(n0, n)), .src = tile});
    });
  });
}

Matrix random_matrix(std::int64_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> numbers(-1, 1);
  Matrix a(size);
  for (float& x : a) x = numbers(generator);
  return a;
}

Matrix columns(const Matrix& a, std::int64_t width, std::int64_t first, std::int64_t count) {
  Matrix part;
  for (std::size_t row = 0; row < a.size(); row += width)
    part.insert(part.end(), a.begin() + row + first, a.begin() + row + first + count);
  return part;
}

Matrix transposed(const Matrix& a, std::int64_t rows, std::int64_t width) {
  Matrix turned(a.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < width; ++c) turned[c * rows + r] = a[r * width + c];
  }
  return turned;
}

std::vector<double> exact_product(const std::vector<double>& a, const std::vector<double>& b, std::int64_t m,
                                  std::int64_t k, std::int64_t n) {
  std::vector<double> out(m * n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      for (std::int64_t c = 0; c < n; ++c) out[i * n + c] += a[i * k + j] * b[j * n + c];
    }
  }
  return out;
}

namespace {

double largest_error(const Problem& p) {
  double worst = 0, scale = 1e-30;
  for (const double x : p.expected) scale = std::max(scale, std::abs(x));
  for (const Arrays& of_rank : p.arrays) {
    for (std::size_t i = 0; i < p.expected.size(); ++i)
      worst = std::max(worst, std::abs(of_rank.at(p.output)[i] - p.expected[i]));
  }
  return worst / scale;
}

}  // namespace

int run_example(const char* name, Problem (*make)(int ranks, unsigned seed), int argc, char** argv) {
  CLI::App app(fmt::format("{} on several ranks, compared with the whole problem in double precision", name));
  int ranks = 4;
  unsigned seed = 1;
  app.add_option("--ranks", ranks, "so many, a power of 2")->check(CLI::IsMember({1, 2, 4, 8, 16, 32, 64}));
  app.add_option("--seed", seed, "of the random numbers");
  CLI11_PARSE(app, argc, argv);
  try {
    Problem p = make(ranks, seed);
    const check::Report report = check::check_program(p.program, arch(p.program.target));
    if (!report.ok()) throw Error(report.diagnostics);
    std::vector<sim::Buffers> buffers(ranks);
    for (int r = 0; r < ranks; ++r) {
      for (auto& [tensor, values] : p.arrays[r]) buffers[r][tensor] = {values.data(), values.size() * sizeof(float)};
    }
    sim::run(Launch(p.program).on_ranks(ranks), arch(p.program.target), buffers);
    constexpr double kTolerance = 1e-5;  // of sums of some hundred products in float32
    const double error = largest_error(p);
    fmt::print("{} on {} ranks: largest error {:.1e} of the largest value\n", name, ranks, error);
    return error <= kTolerance ? 0 : 1;
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}

}  // namespace kiln::examples::ranks
