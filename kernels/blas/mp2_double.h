// The energies of mp2.h beyond float32: every array is the sum of two float32 arrays, x0 and x1, where mp2.h has x, and
// terms are computed in that form (double_float.h). |b| <= 1, as are amplitudes: whoever has doubles divides by a power
// of two. All arrays are float32.
//
// mp2_energy_double: the orbitals lie in a ring, so that pairs (i, i + d) are neighbours.
//   input  b0, b1    [occupied + (occupied - 1) / 2, virtual, auxiliary]: the first ones once more behind the last
//   input  e0, e1    [occupied / 2 + 1, occupied]: ε_i + ε_(i + d), d from 0 on
//   input  v0, v1    [1, virtual]: ε_a
//   output energy    [1, 2]
// mp2_pair_energy_double: b_i0, b_i1, b_j0, b_j1 [virtual, auxiliary]; e0, e1 [1, 1]; v0, v1; energy.
// mp2_reduce_double: amplitudes0, amplitudes1 [chunk * virtual, occupied * virtual]; e0, e1 [chunk, occupied]; v0, v1;
// energy.
//
// An amplitude's error is that of double_gemm (auxiliary 2^-42 of the largest |b|²), that of a term 2^-41 of it
// besides; sums carry what they lose.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::kernels {

isa::Program mp2_energy_double(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary, Target target);
isa::Program mp2_pair_energy_double(std::int64_t virtuals, std::int64_t auxiliary, Target target);
isa::Program mp2_reduce_double(std::int64_t chunk, std::int64_t occupied, std::int64_t virtuals, Target target);

}  // namespace kiln::kernels
