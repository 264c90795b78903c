// BoxBuckets: which of many boxes may share bytes with another one, without looking at all of them. Along the dimension
// in which the boxes overlap least, each stands in the buckets of the range that it covers.
#pragma once

#include <cstdint>
#include <vector>

#include "kiln/analysis/box.h"
#include "kiln/base/function_ref.h"

namespace kiln::timing {

using analysis::Box;

class BoxBuckets {
 public:
  using BoxOf = FunctionRef<const Box&(std::uint32_t)>;

  // Positions of the boxes 0 … count-1 that share bytes with `box`, in ascending order. Boxes stay as they were in
  // earlier calls; those that came since then are put into buckets now.
  std::vector<std::uint32_t> overlapping(const Box& box, std::uint32_t count, BoxOf box_of);
  void clear();

 private:
  struct Range {
    std::size_t first, last;
  };
  Range range_of(const Box& box) const;
  void add(std::uint32_t position, const Box& box);
  void build(std::uint32_t count, BoxOf box_of);

  int axis_ = 0;
  std::int64_t origin_ = 0, width_ = 1;
  std::vector<std::vector<std::uint32_t>> buckets_;
  std::vector<std::uint32_t> wide_;  // boxes that would stand in many buckets
  std::uint32_t known_ = 0, built_for_ = 0;
};

}  // namespace kiln::timing
