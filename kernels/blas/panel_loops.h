// What products and solves with a square matrix share: y = L b for b [S, R], in panels of 128 rows of L. Columns of b
// are taken in blocks that stay in SBUF with all of S. A matrix that multiplies from the right is the transposed
// problem: b is transposed on its way in and the result on its way out.
#pragma once

#include <functional>

#include "kernels/blas/product_block.h"
#include "kernels/blas/split.h"
#include "kernels/blas/triangle.h"

namespace kiln::kernels {

class PanelLoops {
 public:
  // b and out are [S, R] on the left, [R, S] on the right.
  PanelLoops(isa::Kernel& k, Side side, const isa::View& b, const isa::View& out,
             Precision precision = Precision::native);

  std::int64_t size() const { return size_; }
  const std::vector<Piece>& panels() const { return panels_; }

  // For each block of columns: body(first column, its width).
  void blocks(const std::function<void(isa::Index, std::int64_t)>& body) const;
  // All of S of a block, [128, panels, width].
  isa::View load(const isa::View& from, const isa::Index& r0, std::int64_t width) const;
  // The rows of a panel, [rows, width].
  isa::View load(const isa::View& from, const Piece& panel, const isa::Index& r0, std::int64_t width) const;
  void store(const Piece& panel, const isa::Index& r0, const isa::View& tile) const;

  // A block, or a tile, as products take it.
  Parts parts(const isa::View& block) const { return parts_of_chunk(k_, block, size_, precision_); }
  Parts tile_parts(const isa::View& tile) const { return parts_of_tile(k_, tile, precision_); }
  // sum += stationaryᵀ moving
  void multiply(const isa::View& sum, const Parts& stationary, const Parts& moving) const {
    add_products(k_, sum, stationary, moving, precision_);
  }

  // Diagonal blocks of a triangle L as stationary operands: Lᵀ, the rest zero. `l` as in add.
  std::vector<isa::View> diagonal_blocks(const Source& l, Uplo uplo, bool unit) const;

  // sum += Lᵀ of some rows of L (`panel`) with the tiles of b from row `first` to `last`, [128, panels, width].
  // `l` holds L as [X, K], with k_first Lᵀ.
  void add(const isa::View& sum, const Source& l, const Piece& panel, std::int64_t first, std::int64_t last,
           const Parts& b) const;

 private:
  isa::Kernel& k_;
  bool turned_;
  isa::View b_, out_;
  Precision precision_;
  std::int64_t size_, total_, width_;
  std::vector<Piece> panels_;
};

// The first rows of a panel of a block.
Parts panel_of(const Parts& block, std::size_t panel, std::int64_t rows);

}  // namespace kiln::kernels
