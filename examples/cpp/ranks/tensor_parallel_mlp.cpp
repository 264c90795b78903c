// A tensor-parallel MLP, y = relu(x W1) W2: each rank has some columns of W1 and the rows of W2 that belong to them,
// and the partial results of all ranks are added up. examples/ranks/tensor_parallel_mlp.py is the same in Python.
#include <algorithm>

#include "parts.h"

using namespace kiln;
using namespace kiln::examples::ranks;

namespace {

constexpr std::int64_t kTokens = 64, kWidth = 96, kFeatures = 256;

isa::Program mlp(int ranks) {
  const std::int64_t features = kFeatures / ranks;
  isa::Kernel k("mlp", Target::trn2);
  const isa::View x = k.input("x_transposed", {kWidth, kTokens}, DType::float32);
  const isa::View w1 = k.input("w1", {kWidth, features}, DType::float32);
  const isa::View w2 = k.input("w2", {features, kWidth}, DType::float32);
  const isa::View y = k.output("y", {kTokens, kWidth}, DType::float32);
  const isa::View hidden = shared(k, "hidden", {features, kTokens});  // transposed
  const isa::View partial = shared(k, "partial", {kTokens, kWidth}), total = shared(k, "total", {kTokens, kWidth});
  product(k, hidden, w1, x, true);
  product(k, partial, hidden, w2);
  k.all_reduce({.srcs = {partial}, .dsts = {total}, .replica_group = everyone(ranks), .op = AluOp::add});
  k.dma_copy({.dst = y, .src = total});
  return k.finish();
}

Problem make(int ranks, unsigned seed) {
  const std::int64_t features = kFeatures / ranks;
  const Matrix x = random_matrix(kTokens * kWidth, seed), w1 = random_matrix(kWidth * kFeatures, seed + 1),
               w2 = random_matrix(kFeatures * kWidth, seed + 2);
  Problem p{mlp(ranks), {}, "y", {}};
  for (int r = 0; r < ranks; ++r) {
    const auto first = w2.begin() + r * features * kWidth;
    p.arrays.push_back({{"x_transposed", transposed(x, kTokens, kWidth)},
                        {"w1", columns(w1, kFeatures, r * features, features)},
                        {"w2", Matrix(first, first + features * kWidth)},
                        {"y", Matrix(kTokens * kWidth)}});
  }
  std::vector<double> hidden = exact_product({x.begin(), x.end()}, {w1.begin(), w1.end()}, kTokens, kWidth, kFeatures);
  for (double& h : hidden) h = std::max(h, 0.0);
  p.expected = exact_product(hidden, {w2.begin(), w2.end()}, kTokens, kFeatures, kWidth);
  return p;
}

}  // namespace

int main(int argc, char** argv) { return run_example("tensor_parallel_mlp", make, argc, argv); }
