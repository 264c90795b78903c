// The gradient of |X W - T|^2 / 2 on data that is spread over ranks: each has some rows of X and T, and the gradients
// of all are added up. examples/ranks/data_parallel.py is a whole step in Python.
#include "parts.h"

using namespace kiln;
using namespace kiln::examples::ranks;

namespace {

constexpr std::int64_t kRows = 256, kWidth = 24, kOutputs = 8;

isa::Program gradient(int ranks) {
  const std::int64_t rows = kRows / ranks;
  isa::Kernel k("gradient", Target::trn2);
  const isa::View x = k.input("x", {rows, kWidth}, DType::float32);
  const isa::View x_transposed = k.input("x_transposed", {kWidth, rows}, DType::float32);
  const isa::View targets = k.input("targets", {rows, kOutputs}, DType::float32);
  const isa::View weights = k.input("weights", {kWidth, kOutputs}, DType::float32);
  const isa::View out = k.output("gradient", {kWidth, kOutputs}, DType::float32);
  const isa::View errors = shared(k, "errors", {rows, kOutputs}), own = shared(k, "own", {kWidth, kOutputs}),
                  total = shared(k, "total", {kWidth, kOutputs});
  product(k, errors, x_transposed, weights);
  k.tiles(rows, 128, [&](isa::Index first, std::int64_t n) {
    const isa::View predicted = k.sbuf({n, kOutputs}, DType::float32), wanted = k.sbuf({n, kOutputs}, DType::float32);
    k.dma_copy({.dst = predicted, .src = errors(isa::ds(first, n))});
    k.dma_copy({.dst = wanted, .src = targets(isa::ds(first, n))});
    k.tensor_tensor({.dst = predicted, .data1 = predicted, .data2 = wanted, .op = AluOp::subtract});
    k.dma_copy({.dst = errors(isa::ds(first, n)), .src = predicted});
  });
  product(k, own, x, errors);
  k.all_reduce({.srcs = {own}, .dsts = {total}, .replica_group = everyone(ranks), .op = AluOp::add});
  k.dma_copy({.dst = out, .src = total});
  return k.finish();
}

Problem make(int ranks, unsigned seed) {
  const std::int64_t rows = kRows / ranks;
  const Matrix x = random_matrix(kRows * kWidth, seed), t = random_matrix(kRows * kOutputs, seed + 1),
               w = random_matrix(kWidth * kOutputs, seed + 2);
  Problem p{gradient(ranks), {}, "gradient", {}};
  for (int r = 0; r < ranks; ++r) {
    const Matrix own(x.begin() + r * rows * kWidth, x.begin() + (r + 1) * rows * kWidth);
    p.arrays.push_back({{"x", own},
                        {"x_transposed", transposed(own, rows, kWidth)},
                        {"targets", Matrix(t.begin() + r * rows * kOutputs, t.begin() + (r + 1) * rows * kOutputs)},
                        {"weights", w},
                        {"gradient", Matrix(kWidth * kOutputs)}});
  }
  const Matrix turned = transposed(x, kRows, kWidth);
  std::vector<double> errors = exact_product({x.begin(), x.end()}, {w.begin(), w.end()}, kRows, kWidth, kOutputs);
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] -= t[i];
  p.expected = exact_product({turned.begin(), turned.end()}, errors, kWidth, kRows, kOutputs);
  return p;
}

}  // namespace

int main(int argc, char** argv) { return run_example("data_parallel", make, argc, argv); }
