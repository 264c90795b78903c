// Mp2Terms: from tiles of amplitudes to energies. For two orbitals i, j and virtuals a, b with x = T_ijab and
// y = T_ijba, the terms of (a, b) and (b, a) together are 2 (x² + y² - x y) / Δ, and Δ is the same for both: only
// tiles on and above the diagonal of (a, b) are needed, those above with the weight 2.
#pragma once

#include "kernels/blas/product_block.h"

namespace kiln::kernels {

// A strip of virtuals a against those from a's tile on: columns [start, virtuals).
struct Mp2Strip {
  std::int64_t index, start, rows;
};

// A piece of a strip, at most as wide as fits into PSUM; columns are counted from the strip's first.
struct Mp2Task {
  Mp2Strip strip;
  Piece columns;
};

class Mp2Terms {
 public:
  // `virtuals`: their energies in HBM, [1, v].
  Mp2Terms(isa::Kernel& k, const isa::View& virtuals);

  std::vector<Mp2Strip> strips() const;
  std::vector<Mp2Task> tasks() const;  // all of a pair

  // [128, n]: energies of occupied orbitals on all partitions, and half of them (where there are tiles beside the
  // diagonal).
  struct Occupied {
    isa::View whole, half;
    bool has_half;
    Occupied column(const isa::Index& i) const;
  };
  // The first `wrapped` once more at the end.
  Occupied occupied(const isa::View& row, std::int64_t wrapped = 0) const;

  // What does not depend on j, from e_i [128, 1]: [128, strips], ε_i - ε_a and half of it.
  Occupied base(const isa::View& e_i) const;

  // Sums of a piece of a strip: x and y [rows, columns] in SBUF or PSUM, not both in PSUM; e_j [128, 1]. The sums of
  // the rows go to `to` [128, 1].
  void sum(const Mp2Strip& strip, const Piece& columns, const isa::View& x, const isa::View& y, const Occupied& base,
           const Occupied& e_j, const isa::View& to) const;

 private:
  Occupied halved(const isa::View& whole) const;
  isa::View weights(const Mp2Strip& strip, const Piece& columns, const Occupied& base, const Occupied& e_j) const;

  isa::Kernel& k_;
  std::int64_t virtuals_;
  bool has_half_;
  isa::View minus_b_, half_minus_b_;  // [128, v]: -ε_b on all partitions
  isa::View minus_a_;                 // [128, strips]: -ε_a by partition
};

}  // namespace kiln::kernels
