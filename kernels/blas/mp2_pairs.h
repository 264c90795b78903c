// Mp2Pairs: the energy of a pair of orbitals from their panels of B, B_i and B_j [virtuals, auxiliary].
//
// A strip of 128 virtuals a against all b from its own tile on takes two products: x = B_i[a] B_j[b]ᵀ, and
// y = B_j[a] B_i[b]ᵀ, which is T_ijba as it lies opposite of x: the tile below the diagonal need not be transposed.
// Only the tile on the diagonal is, its own opposite.
#pragma once

#include <optional>

#include "kernels/blas/mp2_terms.h"

namespace kiln::kernels {

// A turned panel: in SBUF, [128, tiles of the auxiliary index, virtuals], or left in HBM because two do not fit.
struct Mp2Panel {
  isa::View tile, memory;
  bool is_loaded;
};

// Which of several panels in HBM: `first`, moved on by a register where there is one.
struct Mp2Place {
  isa::Index first = 0;
  std::optional<isa::Reg> moved = {};
  isa::View of(const isa::View& panels) const;  // [n, …] to […]
};

class Mp2Pairs {
 public:
  // Room in HBM for `panels` turned panels.
  Mp2Pairs(isa::Kernel& k, const isa::View& eps_vir, std::int64_t panels, std::int64_t auxiliary);
  const Mp2Terms& terms() const { return terms_; }

  // Turns all panels of b [n, virtuals, auxiliary]; the first `wrapped` stand behind the last one once more.
  void turn_panels(const isa::View& b, std::int64_t wrapped);
  // Turns one panel, to these places.
  void turn_panel(const isa::View& b, const std::vector<Mp2Place>& places);

  Mp2Panel panel(const Mp2Place& i) const;
  // Sums over all terms of a pair, one for each partition, to `to` [128, 1].
  void sum(const Mp2Panel& b_i, const Mp2Panel& b_j, const Mp2Terms::Occupied& base, const Mp2Terms::Occupied& e_j,
           const isa::View& to) const;

 private:
  struct Products {
    isa::View x, y;  // in PSUM; y without the diagonal tile
  };
  isa::View piece(const Mp2Panel& panel, const isa::Index& tile, std::int64_t rows, std::int64_t start,
                  std::int64_t size) const;
  Products multiply(const Mp2Panel& b_i, const Mp2Panel& b_j, const Mp2Strip& strip, const Piece& columns) const;
  isa::View opposite(const Mp2Strip& strip, const Piece& columns, const Products& products) const;

  isa::Kernel& k_;
  Mp2Terms terms_;
  std::int64_t virtuals_, whole_, rest_;  // tiles of the auxiliary index, and what remains
  bool fits_;
  isa::View memory_;  // [panels, 128, tiles, virtuals]
};

}  // namespace kiln::kernels
