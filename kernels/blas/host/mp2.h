// Energies of second-order Møller-Plesset theory, on the backend of the moment; kernels/blas/mp2.h has the formulas.
#pragma once

#include "kernels/blas/host/types.h"

namespace kiln::blas {

// T is float or double. b [occupied, virtual, auxiliary], without gaps.
template <class T>
double mp2_energy(Int occupied, Int virtuals, Int auxiliary, const T* b, const T* eps_occ, const T* eps_vir);
// One pair: b_i, b_j [virtual, auxiliary].
template <class T>
double mp2_pair_energy(Int virtuals, Int auxiliary, const T* b_i, const T* b_j, T eps_i, T eps_j, const T* eps_vir);
// Of amplitudes t [chunk * virtual, occupied * virtual].
template <class T>
double mp2_reduce(Int chunk, Int occupied, Int virtuals, const T* t, const T* eps_chunk, const T* eps_occ,
                  const T* eps_vir);

}  // namespace kiln::blas
