// What nc_matmul and nc_matmul_mx answer about their products.
#pragma once

#include "kiln/isa/inst_view.h"

namespace kiln::isa {

// Of stationary, K x M, with moving, K x N; `values` in each element.
Product matrix_product(const InstView& inst, int dst, int stationary, int moving, double values, const Arch& arch);

// Nothing when the arguments are not two pairs.
std::optional<ArrayTile> tile_of_array(const InstView& inst, int tile_position, int tile_size);

}  // namespace kiln::isa
