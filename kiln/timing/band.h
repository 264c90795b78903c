// The error band of a prediction: how far the model was off on measured kernels that are like this one.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "kiln/timing/timeline.h"

namespace kiln::timing {

// What a run looks like, for telling how unlike another it is: which part of the time the tensor, vector and scalar
// engine and the DMA queues are busy, and how long it takes, in powers of ten of a nanosecond.
struct Likeness {
  std::array<double, 4> busy{};
  double decades = 0;
};
Likeness likeness_of(const Timeline& timeline);
double distance(const Likeness& a, const Likeness& b);

// One measured kernel: what the model said, divided by what was measured.
struct Residual {
  std::string_view id;
  Target target;
  Engine bottleneck;
  double reordered, in_order;
  Likeness likeness;
};
std::span<const Residual> residuals();

// `without`: rows that are left out, to ask what the others say about them.
Band band_of(const Timeline& timeline, const Arch& arch, std::span<const std::string> without = {});

// The band as a factor: of a run that looks so, is bound by this engine and has its instructions reordered.
double band_factor(const Likeness& own, Engine bottleneck, const Arch& arch, std::span<const std::string> without);

}  // namespace kiln::timing
