// What routines on triangular and symmetric matrices share.
#pragma once

#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

enum class Uplo : std::uint8_t { lower, upper };
enum class Side : std::uint8_t { left, right };
enum class Diag : std::uint8_t { non_unit, unit };

constexpr Uplo opposite(Uplo uplo) { return uplo == Uplo::lower ? Uplo::upper : Uplo::lower; }

// to = the triangle of a tile in SBUF [rows, columns], zero elsewhere; with `strict` without its diagonal. The tile's
// first row is `down` rows below its first column on the diagonal. In place when both are one tile.
void keep_triangle(isa::Kernel& k, const isa::View& to, const isa::View& tile, Uplo uplo, std::int64_t down = 0,
                   bool strict = false);

// A whole diagonal block, of at most 128 rows, of a symmetric float32 matrix of which one triangle is used.
isa::View symmetric_block(isa::Kernel& k, const isa::View& a, std::int64_t start, std::int64_t size, Uplo uplo);

}  // namespace kiln::kernels
