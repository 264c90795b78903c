// Rows of several passes of a loop that are moved together: patches of images, with what is computed of them. The same
// values as the oracle's on every chip, with fewer DMAs.
#include <gtest/gtest.h>

#include <utility>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/solve.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;
constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

class PassesTogether : public ::testing::Test {
 protected:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::mt19937_64 random_{test::seed()};
};

// Patches of 2 x 2 pixels as rows: by a transposition, or by slices that are joined.
Expr patches(const Expr& x, bool slices) {
  const Shape s = x.shape();
  const std::int64_t n = s[0], h = s[1] / 2, w = s[2] / 2, c = s[3];
  if (!slices) return reshape(transpose(reshape(x, {n, h, 2, w, 2, c}), {0, 1, 3, 2, 4, 5}), {n, h, w, 4 * c});
  const auto every_second = [&](std::int64_t i, std::int64_t j) {
    return slice(slice(x, 1, i, std::nullopt, 2), 2, j, std::nullopt, 2);
  };
  return concat({every_second(0, 0), every_second(1, 0), every_second(0, 1), every_second(1, 1)}, 3);
}

// A program whose rows are passes of a loop, each by itself and several together.
std::pair<std::optional<Compiled>, std::optional<Compiled>> with_loops(const std::vector<Graph>& ready,
                                                                       const CompileOptions& options) {
  constexpr std::size_t kTilings = 8;
  Choice choice;
  for (std::size_t t = 0; t < kTilings; ++t) {
    choice.tiling[0] = t;
    std::optional<Compiled> one = make(ready, options, choice);
    if (!one || one->regions[0].loops.empty() || one->regions[0].packed != 1) continue;
    choice.region.passes_together = 2;
    std::optional<Compiled> several = make(ready, options, choice);
    if (several) fill_constants(*several);
    return {std::move(one), std::move(several)};
  }
  return {};
}

TEST_F(PassesTogether, OfPatches) {
  int moved_together = 0;
  for (int i = 0; i < 6; ++i) {
    const Shape shape{2, 2 * pick(64, 70), 2 * 4 * pick(4, 5), 4 * pick(4, 10)};
    const DType t = i % 2 ? bf16 : f32;
    Builder b("patches");
    const Expr x = b.input("x", {t, shape}), y = patches(x, pick(0, 1) == 1);
    const Expr centred = y - mean(y, {{3}, true});
    const Expr norm = centred * rsqrt(mean(square(centred), {{3}, true}) + 1e-3);
    if (pick(0, 1))
      b.output("y", norm * b.input("gain", {t, {y.shape()[3]}}));
    else
      b.output("y", norm + b.input("z", {t, y.shape()}));
    b.output("s", sum(y, {{3}, false}));
    const Graph graph = b.finish();
    const CompileOptions options{.target = kTargets[i % 3]};
    const std::vector<Graph> ready{run_passes(before_passes(graph, options.target)).back().graph};
    const auto [one, several] = with_loops(ready, options);
    if (!one || !several) continue;
    moved_together += isa::print(one->program) != isa::print(several->program);
    const Outcome out = compare(*several, graph, random_inputs(graph, static_cast<unsigned>(random_())));
    EXPECT_EQ(out.wrong, "") << print(graph) << "on target " << i % 3 << "\n" << isa::print(out.compiled.program);
    EXPECT_EQ(compare(graph, 1, options).wrong, "") << print(graph);
  }
  EXPECT_GT(moved_together, 3);
}

}  // namespace
}  // namespace kiln::tensor
