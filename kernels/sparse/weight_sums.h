// WeightSums: the sums of weights over keys, which lie on the partitions, added up element by element by the vector
// engine and gpsimd while the tensor engine goes on.
#pragma once

#include <optional>

#include "kernels/sparse/query_groups.h"

namespace kiln::kernels {

class WeightSums {
 public:
  // For a group of so many queries.
  WeightSums(isa::Kernel& k, std::int64_t queries) : k_(k), queries_(queries) {}
  void add(const KeyChunk& chunk, const isa::View& weights);
  // [128, tiles of queries] in PSUM. `ones` [128, 1] has the dtype that the sums are rounded to before the last step.
  isa::View totals(const isa::View& ones);

 private:
  // What one engine has added up: [128, halves, 512].
  struct Part {
    Engine engine;
    isa::View sum = {};
    std::optional<isa::View> first = {};  // a pair that is not added yet
    std::vector<bool> begun = std::vector<bool>(2 * kWide / kTile, false);
  };
  void add_pair(Part& part, const isa::View& weights);
  void add_run(Part& part, const KeyRun& run, const isa::View& weights);
  void begin(Part& part, std::int64_t tile);
  void settle(Part& part);
  // All that a part has, in its first half.
  std::optional<isa::View> folded(Part& part);
  isa::View sum_of(Part& part);

  isa::Kernel& k_;
  std::int64_t queries_;
  int added_ = 0;
  Part parts_[2] = {{Engine::vector}, {Engine::gpsimd}};
};

}  // namespace kiln::kernels
