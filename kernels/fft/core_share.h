// What one of the two cores of a pair does of a step, and where both find its results.
#pragma once

#include <string>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

// The first or the second half of `total`.
inline Piece share_of(std::int64_t total, int core) {
  const std::int64_t half = (total + 1) / 2;
  return core == 0 ? Piece{0, half} : Piece{half, total - half};
}

inline isa::View shared_tensor(isa::Kernel& k, const std::string& name, isa::Shape shape) {
  return k.tensor(Memory::shared_hbm, isa::Role::internal, std::move(shape), f32, {.name = name});
}

// Both cores have written their halves.
inline void meet(isa::Kernel& k, const isa::View& shared) { k.core_barrier({.data = shared, .cores = {0, 1}}); }

}  // namespace kiln::kernels
