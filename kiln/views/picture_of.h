// The picture of a timed run.
#pragma once

#include "kiln/timing/timed_run.h"
#include "kiln/views/picture.h"

namespace kiln::views {

using timing::TimedRun;

struct PictureOptions {
  std::size_t max_slices = 1'000'000;  // later ones are left out; slices_left_out counts them
  std::size_t max_flows = 200'000;     // later ones are left out
};

// Engines that do something, then DMA queues, then a track that shows where iterations of steady loops were
// left out. Curves: SBUF and PSUM bytes per partition of each core, HBM bandwidth.
Picture picture_of(const TimedRun& run, const PictureOptions& options = {});

}  // namespace kiln::views
