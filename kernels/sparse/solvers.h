// Iterations with a square matrix of tiles, whole: the matrix, the vectors and the scalars stay on the chip from the
// first pass to the last. Tiles that do not fit into SBUF are loaded again in each pass.
//
//   input  blocks [128, tiles, 128]  float32: blocks(k, e, m) is element (m, k) of tile e, zero beyond the matrix
//   input  b, x   [n]                float32: the right-hand side, and where to begin
//   output y      [n]                float32: the solution, or the vector
//   output info   [1, 4]             float32: passes, Σ r², Σ b² (power iteration: passes, eigenvalue, Σ (a v)²)
//
// conjugate_gradient: also input `limits` [1, 2]: the square of the tolerance, the most passes; with a diagonal the
// input `inverse` [n] of it, with a matrix for a preconditioner `m_blocks` like blocks.
// fixed_iteration: x += d with d = alpha r + beta d; input `factors` [1, 2 steps]: alpha, then beta of each step.
// power_iteration: no b; input `limits`: the tolerance, the most passes.
#pragma once

#include <optional>

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

enum class Preconditioner : std::uint8_t { none, diagonal, matrix };

struct SolverConfig {
  TilePattern pattern;
  Preconditioner preconditioner = Preconditioner::none;  // of conjugate_gradient
  TilePattern m_pattern = {};                            // with Preconditioner::matrix
  std::int64_t steps = 0;                                // of fixed_iteration
};

isa::Program conjugate_gradient(const SolverConfig& config, Target target);
isa::Program fixed_iteration(const SolverConfig& config, Target target);
isa::Program power_iteration(const SolverConfig& config, Target target);

}  // namespace kiln::kernels
