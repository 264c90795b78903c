#include "kiln/isa/instructions/shared/product.h"

namespace kiln::isa {

Product matrix_product(const InstView& inst, int dst, int stationary, int moving, double values, const Arch& arch) {
  const bool wide = inst.dtype(stationary) == DType::float32 || inst.dtype(moving) == DType::float32;
  const double k = static_cast<double>(inst.partitions(moving)), n = static_cast<double>(inst.free_size(moving));
  Product p;
  p.macs = k * n * static_cast<double>(inst.partitions(dst)) * values;
  p.flops = 2.0 * k * static_cast<double>(inst.free_size(stationary)) * n * (wide ? arch.matmul_fp32_passes : 1);
  p.is_matmul = true;
  return p;
}

std::optional<ArrayTile> tile_of_array(const InstView& inst, int tile_position, int tile_size) {
  const auto at = inst.integers(tile_position), extent = inst.integers(tile_size);
  if (at.size() != 2 || extent.size() != 2) return std::nullopt;
  return ArrayTile{at[0], at[1], extent[0], extent[1]};
}

}  // namespace kiln::isa
