// MP2 energies of doubles on a device, by split arithmetic (kernels/blas/mp2_double.h): arrays divided by a power of
// two and cut into two float32 numbers.
#pragma once

#include "kernels/blas/host/types.h"

namespace kiln::blas {

double wide_mp2_energy(Int occupied, Int virtuals, Int auxiliary, const double* b, const double* eps_occ,
                       const double* eps_vir);
double wide_mp2_pair_energy(Int virtuals, Int auxiliary, const double* b_i, const double* b_j, double eps_ij,
                            const double* eps_vir);
double wide_mp2_reduce(Int chunk, Int occupied, Int virtuals, const double* t, const double* eps_chunk,
                       const double* eps_occ, const double* eps_vir);

}  // namespace kiln::blas
