#include "kiln/analysis/product.h"

namespace kiln::analysis {
using namespace isa;

namespace {

// Of K x M, stationary, with K x N, moving; `values` in each element.
Product product(const InstView& inst, int dst, int stationary, int moving, double values, const Arch& arch) {
  const bool wide = inst.dtype(stationary) == DType::float32 || inst.dtype(moving) == DType::float32;
  const double k = static_cast<double>(inst.partitions(moving)), n = static_cast<double>(inst.free_size(moving));
  Product p;
  p.macs = k * n * static_cast<double>(inst.partitions(dst)) * values;
  p.flops = 2.0 * k * static_cast<double>(inst.free_size(stationary)) * n * (wide ? arch.matmul_fp32_passes : 1);
  p.is_matmul = true;
  return p;
}

}  // namespace

Product product_of(const InstView& inst, const Arch& arch) {
  switch (inst.inst().opcode) {
    case Opcode::nc_matmul: {
      using namespace args::nc_matmul;
      Product p = product(inst, dst, stationary, moving, 1, arch);
      p.transposes = inst.boolean(is_transpose);
      return p;
    }
    case Opcode::nc_matmul_mx: {
      using namespace args::nc_matmul_mx;
      const bool packed = size_bytes(inst.dtype(stationary)) == 4;
      return product(inst, dst, stationary, moving, packed ? 4 : 1, arch);
    }
    case Opcode::nc_transpose: {  // data, stationary, times an identity
      const double rows = static_cast<double>(inst.partitions(args::nc_transpose::data));
      const double columns = static_cast<double>(inst.free_size(args::nc_transpose::data));
      return {.flops = 2 * rows * rows * columns, .transposes = true};
    }
    default:
      return {};
  }
}

}  // namespace kiln::analysis
