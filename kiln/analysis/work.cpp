#include "kiln/analysis/work.h"

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

// Operations of a product of K x M with K x N, in bfloat16 passes.
double flops(const InstView& inst, int stationary, int moving, const Arch& arch) {
  const bool wide = inst.dtype(stationary) == DType::float32 || inst.dtype(moving) == DType::float32;
  return 2.0 * static_cast<double>(inst.partitions(moving)) * static_cast<double>(inst.free_size(stationary)) *
         static_cast<double>(inst.free_size(moving)) * (wide ? arch.matmul_fp32_passes : 1);
}

void add_tensor_engine(Work& work, const InstView& inst, double times, const Arch& arch) {
  switch (inst.inst().opcode) {
    case Opcode::nc_matmul: {
      using namespace args::nc_matmul;
      const double each = flops(inst, stationary, moving, arch);
      (inst.boolean(is_transpose) ? work.transpose_flops : work.matmul_flops) += times * each;
      work.matmuls += static_cast<std::int64_t>(times);
      break;
    }
    case Opcode::nc_matmul_mx: {
      using namespace args::nc_matmul_mx;
      work.matmul_flops += times * flops(inst, stationary, moving, arch);
      work.matmuls += static_cast<std::int64_t>(times);
      break;
    }
    case Opcode::nc_transpose: {  // data, stationary, times an identity
      const double rows = static_cast<double>(inst.partitions(args::nc_transpose::data));
      const double columns = static_cast<double>(inst.free_size(args::nc_transpose::data));
      work.transpose_flops += times * 2 * rows * rows * columns;
      break;
    }
    default:
      break;
  }
}

}  // namespace

void add_work(Work& work, const Program& program, std::span<const std::int64_t> trips, const Arch& arch) {
  const std::vector<std::int64_t> counts = executions(program, trips);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const InstView inst(program, program.instructions[i]);
    const double times = static_cast<double>(counts[i]);
    add_traffic(work, inst, times);
    const Engine engine = resolve_engine(inst, arch);
    if (engine == Engine::tensor) add_tensor_engine(work, inst, times, arch);
    if (engine == Engine::dma) {
      work.dma_transfers += counts[i];
      work.dma_bytes += times * cost_of(program, inst.inst(), arch).dma_bytes;
    }
  }
}

}  // namespace kiln::analysis
