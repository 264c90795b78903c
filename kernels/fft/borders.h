// Signals with what stands before and behind them, from HBM to HBM.
#pragma once

#include "kernels/fft/frames.h"
#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

// to [rows, samples + 2 pad] = x [rows, samples] between its borders.
void add_borders(isa::Kernel& k, const FramesConfig& config, const isa::View& x, const isa::View& to);

}  // namespace kiln::kernels
