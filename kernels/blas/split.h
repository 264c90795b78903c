// Split: float32 operands as sums of bfloat16 numbers, and which of their products are worth adding up.
//
// x = x0 + x1 + x2 with x0 the nearest bfloat16 of x, x1 that of x - x0, x2 that of x - x0 - x1; each is at most 2^-8
// of the one before, and what n parts leave is at most 2^(-8 n) |x|. Of the products those of order i + j below the
// number of parts are used, so that per product of two float32 numbers (u = 2^-8, to first order)
//
//   bf16    |error| <= 2 u |a b|                    0.8e-2
//   bf16x3  |error| <= 3 u² |a b|                   4.6e-5
//   bf16x6  |error| <= 4 u³ |a b|                   2.4e-7
//
// beside the rounding of float32 sums. Products of bfloat16 numbers are exact in float32.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernels/blas/gemm.h"
#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

// Parts of an operand: 1 for native and bf16.
int parts_of(Precision precision);
DType part_dtype(Precision precision, DType dtype);
// Pairs of parts (of a, of b) to multiply, small ones first.
std::vector<std::pair<int, int>> products_of(Precision precision);
// Relative to |a| |b|, without what summing loses.
double product_error(Precision precision);

// Writes the parts of a float32 tile.
using Parts = std::vector<isa::View>;
void split(isa::Kernel& k, const isa::View& x, const Parts& parts);
// Writes the parts of a chunk [128, tiles, x] that has `rows` rows of K (product_block.h).
void split_chunk(isa::Kernel& k, const isa::View& chunk, std::int64_t rows, const Parts& parts);
// The same into tiles of its own; with Precision::native the one part is the tile itself.
Parts parts_of_tile(isa::Kernel& k, const isa::View& x, Precision precision);
Parts parts_of_chunk(isa::Kernel& k, const isa::View& chunk, std::int64_t rows, Precision precision);
// sum += the products of parts that are worth it.
void add_products(isa::Kernel& k, const isa::View& sum, const Parts& stationary, const Parts& moving,
                  Precision precision, std::optional<bool> accumulate = {});

}  // namespace kiln::kernels
