#include "kiln/analysis/work.h"

#include "kiln/analysis/product.h"
#include "kiln/analysis/trips.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::analysis {
namespace {
using namespace isa;

double bytes_of(const Access& access) {
  return static_cast<double>(access.count()) * static_cast<double>(size_bytes(access.dtype));
}

void add_access(Work& work, Memory memory, bool written, double bytes) {
  if (memory == Memory::sbuf) (written ? work.sbuf_bytes_written : work.sbuf_bytes_read) += bytes;
  if (memory == Memory::psum) (written ? work.psum_bytes_written : work.psum_bytes_read) += bytes;
}

void add_traffic(Work& work, const InstView& inst, double times) {
  const std::vector<ParamInfo>& params = inst.row().params;
  for (int p = 0; p < static_cast<int>(params.size()); ++p) {
    const Arg::Kind kind = inst.arg(p).kind;
    if (!params[p].is_tile() || (kind != Arg::Kind::access && kind != Arg::Kind::accesses)) continue;
    const auto accesses = kind == Arg::Kind::access ? std::span(&inst.access(p), 1) : inst.accesses(p);
    for (const Access& a : accesses) {
      const Memory memory = inst.program().tensors[a.tensor].memory;
      if (params[p].is_input()) add_access(work, memory, false, times * bytes_of(a));
      if (params[p].is_output()) add_access(work, memory, true, times * bytes_of(a));
    }
  }
}

void add_product(Work& work, const Product& product, std::int64_t times) {
  (product.transposes ? work.transpose_flops : work.matmul_flops) += static_cast<double>(times) * product.flops;
  if (product.is_matmul) work.matmuls += times;
}

}  // namespace

void add_work(Work& work, const Program& program, std::span<const std::int64_t> trips, const Arch& arch) {
  const std::vector<std::int64_t> counts = executions(program, trips);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const InstView inst(program, program.instructions[i]);
    const double times = static_cast<double>(counts[i]);
    add_traffic(work, inst, times);
    const Engine engine = resolve_engine(inst, arch);
    if (engine == Engine::tensor) add_product(work, product_of(inst, arch), counts[i]);
    if (engine == Engine::dma) {
      work.dma_transfers += counts[i];
      work.dma_bytes += times * cost_of(program, inst.inst(), arch).dma_bytes;
    }
  }
}

}  // namespace kiln::analysis
