// What the measured kernels share: how they are found, and the statements that most of them consist of.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "bench/timing_kernels.h"
#include "kiln/isa/builder/builder.h"

namespace kiln::bench {

using MakeKernel = std::function<void(isa::Kernel&, const Params&)>;
using KernelTable = std::map<std::string, MakeKernel>;
const KernelTable& instruction_kernels();
const KernelTable& matmul_kernels();
const KernelTable& attention_kernels();
const KernelTable& attention_trace_kernels();
const KernelTable& other_kernels();
const KernelTable& suite_kernels();
const KernelTable& spill_kernels();
const KernelTable& small_head_kernels();
const KernelTable& convolution_kernels();
const KernelTable& spilled_attention_kernels();
const KernelTable& scan_kernels();

inline constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;
// Partitions of a tile, float32 in a row of a PSUM bank, and tiles that lie side by side in one.
inline constexpr std::int64_t kTile = 128, kWide = 512, kGroup = kWide / kTile;

inline DType dtype_of(const Params& p) { return p.text("dtype", "bf16") == "fp32" ? DType::float32 : DType::bfloat16; }

// Descriptors that the older compiler made ahead of time; the newer one leaves it to the hardware.
inline isa::DgeMode dge_of(const Params& p) {
  return p.text("dge") == "static" ? isa::DgeMode::none : isa::DgeMode::unknown;
}

// Loads and stores in the way a row says. queues=2: as in the traces of one public project, loads start from
// the sync and the scalar engine in turn, and stores through software.
class Mover {
 public:
  Mover(isa::Kernel& kernel, const Params& params)
      : k_(kernel), dge_(dge_of(params)), spread_(params.number("queues", 1) == 2) {}
  void load(const isa::View& dst, const isa::View& src) {
    if (!spread_) return copy(dst, src);
    const Engine engine = loads_++ % 2 == 0 ? Engine::sync : Engine::scalar;
    k_.dma_copy({.dst = dst, .src = src, .dge_mode = isa::DgeMode::hwdge, .engine = engine});
  }
  void store(const isa::View& dst, const isa::View& src) {
    if (!spread_) return copy(dst, src);
    k_.dma_copy({.dst = dst, .src = src, .dge_mode = isa::DgeMode::swdge});
  }

 private:
  void copy(const isa::View& dst, const isa::View& src) { k_.dma_copy({.dst = dst, .src = src, .dge_mode = dge_}); }
  isa::Kernel& k_;
  isa::DgeMode dge_;
  bool spread_;
  std::int64_t loads_ = 0;
};

// A row spread over all partitions by a product with ones, as the older compiler does it. It stays in PSUM
// when it fits into a bank, else the scalar engine moves it to SBUF.
isa::View spread_row(isa::Kernel& k, const isa::View& ones, const isa::View& row);

}  // namespace kiln::bench
