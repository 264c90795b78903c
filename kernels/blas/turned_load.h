// Transposing on the tensor engine, while loading or in SBUF. On trn1 it multiplies with the identity, where NaN and
// infinity would spread over a tile, so elements go through as halves of 16 bits there: exact bit for bit, and a
// float32 takes two passes instead of four.
#pragma once

#include "kernels/blas/product_block.h"

namespace kiln::kernels {

// Whether transposing loads of matrices go through the tensor engine, since the DMA is slow at them (trn1 moves a
// tenth); they take a bank of PSUM then, or two to overlap.
bool turns_on_tensor_engine(const Arch& arch);

// As load_chunk for a matrix [X, K]; with several tiles, for one [X, n K] whose rows hold n numbers for each of K, such
// as the real and the imaginary part.
void load_turned(isa::Kernel& k, const std::vector<isa::View>& to, const isa::View& matrix, const isa::Index& k0,
                 std::int64_t rows, const isa::Index& x0, std::int64_t x);

// to [F, P] = data [P, F], both in SBUF, contiguous, of at most 128 x 128.
void turn(isa::Kernel& k, const isa::View& to, const isa::View& data);

}  // namespace kiln::kernels
