// What matrix products share: operands that are loaded with K on the partitions, and a block of the result that stays
// in PSUM while K goes by.
#pragma once

#include <functional>
#include <vector>

#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

inline constexpr std::int64_t kTile = 128;  // partitions: K of a product, rows of its result
inline constexpr std::int64_t kWide = 512;  // columns of its result: one bank of PSUM in float32
inline constexpr std::int64_t kBanks = 8;

inline std::int64_t tiles_of(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }

// A matrix in HBM: [K, X] with k_first, else [X, K].
struct Source {
  isa::View matrix;
  bool k_first = true;
};

// A piece of a dimension: where it begins inside its block, and its size.
struct Piece {
  std::int64_t start, size;
};
// Pieces of at most `tile`: whole ones and a rest, or all alike.
std::vector<Piece> whole_pieces(std::int64_t size, std::int64_t tile);
std::vector<Piece> even_pieces(std::int64_t size, std::int64_t tile);

// As Kernel::tiles, from `start` on.
void tiles_from(isa::Kernel& k, std::int64_t start, std::int64_t total, std::int64_t tile,
                const std::function<void(isa::Index, std::int64_t)>& body);

// A tile [128, rows / 128, x] for `rows` of K; what is beyond K stays unwritten.
isa::View chunk_tile(isa::Kernel& k, std::int64_t rows, std::int64_t x, DType dtype,
                     isa::Kernel::Where at = isa::Kernel::Where::current());
// Loads K rows k0 … k0 + rows, columns x0 … x0 + x of a source into such a tile (or a slice of a longer one).
void load_chunk(isa::Kernel& k, const isa::View& to, const Source& from, const isa::Index& k0, std::int64_t rows,
                const isa::Index& x0, std::int64_t x);

// m x n of the result in PSUM, a bank for each tile of 128 x 512.
class ProductBlock {
 public:
  ProductBlock(isa::Kernel& k, std::int64_t m, std::int64_t n);

  // Adds the product of two chunks of `rows` of K: a [128, ·, m], b [128, ·, n].
  void add(const isa::View& a, const isa::View& b, std::int64_t rows);
  // The same for one tile of K.
  void add_tile(const isa::View& a, const isa::View& b);

  const std::vector<Piece>& rows() const { return rows_; }
  const std::vector<Piece>& columns() const { return columns_; }
  const isa::View& sum(std::size_t row, std::size_t column) const { return sums_[row * columns_.size() + column]; }

 private:
  isa::Kernel& k_;
  std::vector<Piece> rows_, columns_;
  std::vector<isa::View> sums_;
};

// Copies a sum out of PSUM, by the vector and the scalar engine in turn.
void evict(isa::Kernel& k, const isa::View& to, const isa::View& sum, std::size_t turn);

}  // namespace kiln::kernels
