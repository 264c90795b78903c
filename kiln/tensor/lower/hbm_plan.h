// Where the values lie that kernels of a model hand on: one range of HBM, in which places are taken again when nobody
// reads them any more.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::tensor {

// A buffer that is written in step `first` and read for the last time in step `last`.
struct Lifetime {
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
  std::int64_t offset = 0;  // planned
};

// Gives every buffer its offset: the largest first, each at the lowest place that is free as long as it lives. Returns
// the bytes that all of them need.
std::int64_t plan_hbm(std::vector<Lifetime>& buffers);

}  // namespace kiln::tensor
