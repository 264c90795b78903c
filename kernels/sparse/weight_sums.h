// WeightSums: the sums of weights over keys, which lie on the partitions, added up element by element by the vector
// engine and gpsimd while the tensor engine goes on.
#pragma once

#include <optional>

#include "kernels/sparse/query_groups.h"

namespace kiln::kernels {

class WeightSums {
 public:
  // For a group of so many queries. Two engines share the work, so that gpsimd has two thirds of it: the vector engine
  // has other things to do. With `is_last`, each has a half.
  WeightSums(isa::Kernel& k, std::int64_t queries, bool is_last) : k_(k), queries_(queries), turns_(is_last ? 2 : 3) {}
  // The weights of a run, [keys, queries]. With `is_late`, the vector engine soon has to take results out.
  void add(const KeyRun& run, const isa::View& weights, bool is_late);
  // [128, tiles of queries] in PSUM. `ones` [128, 1] has the dtype that the sums are rounded to before the last step.
  // With `interleaved`, partition p of the tile t has query p * tiles + t.
  isa::View totals(const isa::View& ones, bool interleaved);

 private:
  // What one engine has added up: [128, queries].
  struct Part {
    Engine engine;
    isa::View sum = {};
    std::optional<isa::View> first = {};  // of all queries, and not added yet
    std::vector<bool> begun = std::vector<bool>(kWide / kTile, false);
  };
  void add_run(Part& part, const KeyRun& run, const isa::View& weights);
  void add_to_begun(Part& part, const KeyRun& run, const isa::View& weights);
  // What came first becomes the sum so far.
  void settle(Part& part);
  // All that a part has.
  std::optional<isa::View> total(Part& part);
  isa::View sum_of(Part& part);

  isa::Kernel& k_;
  std::int64_t queries_;
  int turns_, added_ = 0;
  Part parts_[2] = {{Engine::vector}, {Engine::gpsimd}};
};

}  // namespace kiln::kernels
