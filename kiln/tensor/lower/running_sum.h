// RunningSum: tiles that are added up element by element while the tensor engine goes on, by the vector engine and
// gpsimd.
#pragma once

#include <optional>

#include "kiln/tensor/lower/tile.h"

namespace kiln::tensor {

class RunningSum {
 public:
  // Of tiles that have one or two halves of n columns, on 128 partitions. The vector engine has the first of every
  // `turn`, and those with one half; none where that is 0.
  RunningSum(isa::Kernel& k, std::int64_t n, int turn) : k_(k), n_(n), turn_(turn) {}
  // Columns before `from` of a tile with one half are none. Tiles with two halves come first.
  void add(const Tile& x, std::int64_t halves, std::int64_t from);
  // The sums over partitions, of m columns at a time, as (m, n / m); with `follow`, those of n / m columns that follow
  // each other are on a partition. `ones` has their dtype. They are added to `sums` where there are such.
  Tile columns(std::int64_t m, const isa::View& ones, bool follow, const isa::View* sums = nullptr);
  bool is_empty() const { return !vector_.sum && !vector_.first && !gpsimd_.sum && !gpsimd_.first; }

 private:
  struct Part {
    std::optional<isa::View> sum;
    std::optional<Tile> first;  // not added yet
    std::int64_t columns = 0;
  };
  void settle(Part& part);
  isa::View sum_of(Part& part, std::int64_t columns);

  isa::Kernel& k_;
  std::int64_t n_;
  int turn_, added_ = 0;
  Part vector_, gpsimd_;
};

}  // namespace kiln::tensor
