// TriangularInverse: inverts triangles of up to 128 x 128 on the chip by doubling: when V holds the inverses of the
// diagonal blocks of size b, V - V (T ∘ M) V holds those of size 2 b, with M the places beside them. Each step is three
// products on the tensor engine, and no entry is ever larger than in a substitution by blocks.
#pragma once

#include "kernels/blas/triangle.h"

namespace kiln::kernels {

class TriangularInverse {
 public:
  // Makes the identity, and the masks for triangles of up to `largest`; 0: none will be inverted.
  TriangularInverse(isa::Kernel& k, std::int64_t largest);

  const isa::View& identity() const { return identity_; }

  // (T⁻¹)ᵀ [n, n] in SBUF, as the stationary operand of T⁻¹ x wants it. `tile` [n, n] in SBUF holds T in its triangle
  // `uplo` and anything elsewhere; `diagonal` [n, 1] is its diagonal, or nothing for ones.
  isa::View transposed_inverse(const isa::View& tile, Uplo uplo, const isa::View* diagonal) const;

 private:
  isa::View block_mask(std::int64_t size) const;

  isa::Kernel& k_;
  isa::View identity_, pairs_;    // pairs_: diagonal blocks of 2
  std::vector<isa::View> masks_;  // [128, 128]: blocks of 4 without those of 2, 8 without 4, …
};

}  // namespace kiln::kernels
