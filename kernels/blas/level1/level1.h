// Level 1: vectors. One algorithm per file; routines that differ in coefficients only are rows of a table
// (kernels/blas/host/level1_table.h).
#pragma once

#include <vector>

#include "kernels/blas/level1/vector_tiles.h"
#include "kiln/isa/program.h"

namespace kiln::kernels {

// A coefficient that a program knows, or reads when it runs.
enum class Coefficient : std::uint8_t { zero, one, given };

// axpy, scal, copy, swap, rot, rotm, real and complex: every output plane is a linear combination of input planes.
//   input  x, y     the vectors (y where there is one)            float32 [storage]
//   input  scalars  the given coefficients, row by row            float32 [1, count]
//   output out0, …  one vector per group of `planes` rows         float32 [n * planes]
struct LinearMapConfig {
  std::string name;
  std::vector<VectorShape> inputs;                     // x, or x and y
  std::vector<std::vector<Coefficient>> coefficients;  // one row per output plane, one column per input plane
};
isa::Program linear_map(const LinearMapConfig& config, Target target);

// dot, dotu, dotc, and asum as the sum of |x|: sums of products of planes.
//   output sum [1, planes]
enum class DotKind : std::uint8_t { product, conjugated, magnitude };
struct DotConfig {
  DotKind kind = DotKind::product;
  VectorShape x, y;  // y is unused by magnitude
};
isa::Program dot(const DotConfig& config, Target target);

// dsdot: the dot product of float32 vectors as the unevaluated sum of two float32 (sum [1, 2]): products are exact,
// their sum is compensated. |error| <= 2^-44 * sum |x y| for n up to 2^20.
isa::Program dsdot(const VectorShape& x, const VectorShape& y, Target target);

// nrm2 without overflow: sum [1, 2] holds the sum of (x * scale)^2, and the scale.
isa::Program nrm2(const VectorShape& x, Target target);

// iamax: of every piece of kIamaxPiece elements, the largest |x| (of a complex one |re| + |im|), and where it stands
// first, in elements of the piece. best [2, pieces]. NaN counts as larger than all.
inline constexpr std::int64_t kIamaxPiece = 128 * 1024;
inline std::int64_t iamax_pieces(std::int64_t n) { return (n + kIamaxPiece - 1) / kIamaxPiece; }
isa::Program iamax(const VectorShape& x, Target target);

}  // namespace kiln::kernels
