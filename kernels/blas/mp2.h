// MP2 pair energies, E = Σ_ijab T_ijab (2 T_ijab - T_ijba) / (ε_i + ε_j - ε_a - ε_b), T_ijab = Σ_P B_iaP B_jbP.
//
// mp2_energy: all pairs from B, each unordered pair once.
//   input  b        [occupied, virtual, auxiliary]          float32
//   input  eps_occ  [1, occupied]                           float32
//   input  eps_vir  [1, virtual]                            float32
//   output energy   [1, 2]: the energy as a sum of two numbers, the larger first   float32
//
// mp2_pair_energy: E_ij of two given panels.
//   input  b_i, b_j [virtual, auxiliary]                    float32
//   input  eps_ij   [1, 2]: ε_i, ε_j                        float32
//   input  eps_vir  [1, virtual]                            float32
//   output energy   [1, 2]                                  float32
//
// mp2_reduce: the energy of amplitudes that exist already, for a chunk of i and all j.
//   input  t        [chunk * virtual, occupied * virtual]: t[(i, a), (j, b)] = T_ijab   float32
//   input  eps_chunk [1, chunk], eps_occ [1, occupied], eps_vir [1, virtual]            float32
//   output energy   [1, 2]                                                              float32
//
// Products and terms are float32; the sums of pairs are compensated (two-sum), so their error does not grow with the
// number of pairs.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::kernels {

isa::Program mp2_energy(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary, Target target);
isa::Program mp2_pair_energy(std::int64_t virtuals, std::int64_t auxiliary, Target target);
isa::Program mp2_reduce(std::int64_t chunk, std::int64_t occupied, std::int64_t virtuals, Target target);

}  // namespace kiln::kernels
