#include "kiln/views/roofline.h"

#include <algorithm>

namespace kiln::views {
namespace {

constexpr double kPortBytes = 4;  // each lane of a vector-like engine reads and writes 32 bits per cycle

double lane_bytes_per_ns(const Arch& arch, Engine engine) {
  return arch.engine(engine).clock_ghz * arch.partitions * kPortBytes;
}

// What the ports of all engines take together, reading and writing: the tensor engine reads two 16-bit
// operands per row from SBUF and writes 32 bits per column to PSUM.
double sbuf_bytes_per_ns(const Arch& arch) {
  double lanes = 0;
  for (const Engine engine : {Engine::vector, Engine::scalar, Engine::gpsimd}) lanes += lane_bytes_per_ns(arch, engine);
  return 2 * lanes + lane_bytes_per_ns(arch, Engine::tensor) + arch.dma.engines * arch.dma.bytes_per_ns;
}
double psum_bytes_per_ns(const Arch& arch) {
  return lane_bytes_per_ns(arch, Engine::tensor) +
         2 * (lane_bytes_per_ns(arch, Engine::vector) + lane_bytes_per_ns(arch, Engine::scalar));
}

}  // namespace

const Ceiling& Roofline::lowest() const {
  return *std::max_element(ceilings.begin(), ceilings.end(),
                           [](const Ceiling& a, const Ceiling& b) { return a.least_ns() < b.least_ns(); });
}

Roofline roofline_of(const TimedRun& run, const analysis::Work& work) {
  const timing::Timeline& t = run.timeline;
  const double cores = static_cast<double>(run.cores().size());
  Roofline r;
  r.flops = work.matmul_flops + work.transpose_flops;
  r.hbm_bytes = t.hbm_bytes_read + t.hbm_bytes_written;
  r.peak_flops_per_ns = 2 * t.tensor_peak_macs_per_ns;
  r.peak_bytes_per_ns = t.hbm_bytes_per_ns;
  r.achieved_flops_per_ns = t.total > 0 ? r.flops / timing::to_ns(t.total) : 0;
  r.ceilings = {{"tensor engine", r.flops, r.peak_flops_per_ns, false},
                {"HBM", r.hbm_bytes, r.peak_bytes_per_ns},
                {"SBUF", work.sbuf_bytes_read + work.sbuf_bytes_written, cores * sbuf_bytes_per_ns(run.arch)},
                {"PSUM", work.psum_bytes_read + work.psum_bytes_written, cores * psum_bytes_per_ns(run.arch)}};
  return r;
}

}  // namespace kiln::views
