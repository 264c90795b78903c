// The space that level 3 searches: for every region how it is laid out, in which blocks it works, and which engine does
// what. 0 is what level 2 chose.
#pragma once

#include <string>
#include <vector>

#include "kiln/tensor/lower/solve.h"

namespace kiln::tensor {

// One number for each knob of each region, region by region; then changes of instructions (instruction_knobs.h).
using Knobs = std::vector<int>;

class TuningSpace {
 public:
  explicit TuningSpace(const Solved& solved);
  // How many values each knob has.
  const std::vector<int>& sizes() const { return sizes_; }
  std::size_t knobs_per_region() const;
  std::size_t regions() const { return regions_.size(); }
  Choice choice(const Knobs& knobs) const;
  std::string describe(const Knobs& knobs) const;  // what is other than at level 2

 private:
  Choice base_;
  std::vector<RegionReport> regions_;
  std::vector<int> sizes_;
};

}  // namespace kiln::tensor
