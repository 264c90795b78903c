// Candidates that are left out because nobody asked for what they change would have been the same programs.
#include <gtest/gtest.h>

#include "bench/compile_patterns.h"
#include "kiln/isa/text/print.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/passes/for_chip.h"

namespace kiln::tensor {
namespace {

using Change = void (*)(RegionOptions&);
constexpr Change kChanges[] = {
    [](RegionOptions& o) { o.psum_columns = 512; },
    [](RegionOptions& o) { o.hoisted_bytes = 4096; },
    [](RegionOptions& o) { o.row_blocks = 2; },
    [](RegionOptions& o) { o.column_tile = 512; },
    [](RegionOptions& o) { o.chunk = 512; },
    [](RegionOptions& o) { o.side_by_side = 2; },
    [](RegionOptions& o) { o.products_beside = 2; },
    [](RegionOptions& o) { o.passes_together = 2; },
    [](RegionOptions& o) { o.rows_first = true; },
    [](RegionOptions& o) { o.turned_blocks = 1; },
    [](RegionOptions& o) { o.load_blocks = 2; },
    [](RegionOptions& o) { o.key_blocks = 3; },
    [](RegionOptions& o) { o.weight_sums = RegionOptions::WeightSums::held; },
    [](RegionOptions& o) { o.terms_added = true; },
    [](RegionOptions& o) { o.few_beside = true; },
    [](RegionOptions& o) { o.few_queries = false; },
    [](RegionOptions& o) { o.unshifted = false; },
    [](RegionOptions& o) { o.whole = false; },
    [](RegionOptions& o) { o.pairs_on_gpsimd = true; },
    [](RegionOptions& o) { o.factors_on_scalar = true; },
    [](RegionOptions& o) { o.sums_on_scalar = true; },
    [](RegionOptions& o) { o.moments = false; },
    [](RegionOptions& o) { o.loads_turned = true; },
    [](RegionOptions& o) { o.whole_rows = true; },
    [](RegionOptions& o) { o.regrouped_bytes = 4096; },
    [](RegionOptions& o) { o.regroups_matrices = true; },
    [](RegionOptions& o) { o.turned_by_dma = 14; },
    [](RegionOptions& o) { o.evacuate = RegionOptions::Evacuate::scalar; },
};

TEST(Choices, ThatNobodyAskedForChangeNothing) {
  int same = 0, other = 0;
  for (const bench::Pattern& pattern : bench::patterns()) {
    const std::vector<Graph> graphs{run_passes(for_chip(pattern.make(), arch(Target::trn2))).back().graph};
    CompileOptions options;
    options.donated = pattern.donated;
    const Choice plain;
    const std::optional<Compiled> made = make(graphs, options, plain);
    if (!made) continue;
    for (const Change& change : kChanges) {
      Choice changed = plain;
      change(changed.region);
      if (!plain.is_same_with(changed)) {
        ++other;
        continue;
      }
      ++same;
      const std::optional<Compiled> again = make(graphs, options, changed);
      ASSERT_TRUE(again.has_value()) << pattern.name;
      EXPECT_EQ(isa::print(made->program), isa::print(again->program)) << pattern.name;
    }
  }
  EXPECT_GT(same, other);  // most changes concern few programs
}

TEST(Choices, OtherThanOfRegionsAreAlwaysOthers) {
  const Choice plain;
  Choice tiled, copied;
  tiled.tiling[0] = 1;
  copied.moving_views = false;
  EXPECT_TRUE(plain.is_same_with(Choice{}));
  EXPECT_FALSE(plain.is_same_with(tiled));
  EXPECT_FALSE(plain.is_same_with(copied));
}

}  // namespace
}  // namespace kiln::tensor
