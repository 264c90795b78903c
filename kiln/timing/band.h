// The error band of a prediction: how far the model was off on measured kernels that are like this one.
#pragma once

#include <span>
#include <string_view>

#include "kiln/timing/timeline.h"

namespace kiln::timing {

// One measured kernel: what the model said, divided by what was measured.
struct Residual {
  std::string_view id;
  Target target;
  Engine bottleneck;
  double reordered, in_order;
};
std::span<const Residual> residuals();

// `without`: leaves out one row, to ask what the others say about it.
Band band_of(const Timeline& timeline, const Arch& arch, std::string_view without = {});

}  // namespace kiln::timing
