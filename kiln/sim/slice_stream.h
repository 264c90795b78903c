// SliceStream: the sources of large reductions arrive slice by slice and are computed while they are in the processor's
// caches, so that no process keeps all that others send it. The plain way, in FarCarrier, gives the same bits.
#pragma once

#include "kiln/sim/far_reduction.h"
#include "kiln/sim/processes.h"
#include "kiln/sim/scratch.h"

namespace kiln::sim {

class SliceStream {
 public:
  SliceStream(Processes& processes, Scratch& scratch, const Kernels& kernels)
      : processes_(processes), scratch_(scratch), kernels_(kernels) {}

  static bool is_worth_it(DType dtype, std::int64_t count);

  // Sources of this process begin to leave. Both sides name their reductions in the same order.
  void begin(const FarReduction& r);
  // Computes what is this process's, whose results begin to leave; or begins to receive them. They are there when
  // Processes::wait returns.
  void finish(const FarReduction& r);

 private:
  void compute_slices(const FarReduction& r);

  Processes& processes_;
  Scratch& scratch_;
  const Kernels& kernels_;
  std::vector<std::byte*> arriving_;  // a slice of each source
};

}  // namespace kiln::sim
