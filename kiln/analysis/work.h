// Work: what a program moves and computes, whatever the time it takes. Counted from the instructions and the
// trip counts of their loops.
#pragma once

#include <span>

#include "kiln/isa/program.h"

namespace kiln::analysis {

struct Work {
  double sbuf_bytes_read = 0, sbuf_bytes_written = 0;
  double psum_bytes_read = 0, psum_bytes_written = 0;
  std::int64_t matmuls = 0;  // nc_matmul and nc_matmul_mx executed
  std::int64_t dma_transfers = 0;
  double dma_bytes = 0;
  // Floating-point operations of the tensor engine, as Product counts them.
  double matmul_flops = 0;
  double transpose_flops = 0;
};

// Adds what a program does when its loops run so often (`trips`: by LoopId).
void add_work(Work& work, const isa::Program& program, std::span<const std::int64_t> trips, const Arch& arch);

}  // namespace kiln::analysis
