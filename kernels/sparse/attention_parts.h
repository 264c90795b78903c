// What the two directions of attention share.
#pragma once

#include <map>
#include <optional>

#include "kernels/sparse/attention.h"

namespace kiln::kernels {

void require_attention(const char* what, const AttentionConfig& config);

// What the forward pass reads and writes (attention.h); minus_lse and unrounded where it has them.
struct AttentionTensors {
  isa::View q, k, v, out, minus_lse, unrounded;
};

// Rows of a matrix [rows, head] in HBM, 128 at a time, loaded when first asked for: as they lie, or turned with the
// head on the partitions. All stay in SBUF with `stays`, else each use loads its own. With `is_awaited` the first
// turned ones come in shorter loads.
class HeadRows {
 public:
  HeadRows(isa::Kernel& k, const isa::View& matrix, bool stays, bool is_awaited = false);
  // [height, head] of tile t.
  isa::View tile(std::int64_t t);
  // Tiles that are loaded together with `stays`, as whole ones: those of t.
  Piece neighbours(std::int64_t t) const;
  // [128, pieces of the head, width] of `count` tiles from t on.
  isa::View turned(std::int64_t t, std::int64_t count = 1);

 private:
  std::int64_t height(std::int64_t t) const { return std::min(kTile, matrix_.dim(0) - t * kTile); }
  isa::Kernel& k_;
  isa::View matrix_;
  bool stays_, is_awaited_;
  std::int64_t first_ = -1;  // that was asked for
  isa::View all_turned_;
  std::map<std::int64_t, isa::View> tiles_;
  std::map<std::int64_t, bool> loaded_;
};

// `out` in the dtype of the result: rounded by gpsimd where it is kept unrounded, too.
isa::View round_out(isa::Kernel& k, const AttentionConfig& config, const isa::View& out);
// Stores zeros as a tile of results of `lanes` heads from h on.
void store_zero_rows(isa::Kernel& k, const AttentionConfig& config, const AttentionTensors& tensors,
                     const isa::Index& h, std::int64_t lanes, std::int64_t row);

// Sums [m, head] in PSUM, in a part of a bank where they fit.
isa::View head_sums(isa::Kernel& k, std::int64_t m, std::int64_t head);

// dst [m, n] += the products over the head of two turned tiles [128, pieces, m] and [128, pieces, n].
void add_scores(isa::Kernel& k, const isa::View& dst, const isa::View& a, const isa::View& b, std::int64_t head);

// The part of the masks that belongs to a tile of the pattern, or nothing.
class Masks {
 public:
  // Declares the input where there are masks.
  Masks(isa::Kernel& k, const AttentionConfig& config);
  bool has(std::int64_t tile) const { return !c_.mask.empty() && c_.mask[tile] >= 0; }
  // x [m, n] in SBUF = scale scores, with the mask of the tile where it has one.
  void apply(const isa::View& x, const isa::View& scores, std::int64_t tile) const;
  // Gets ready for add_turned, before any loop.
  void prepare_turned();
  // scores [keys, queries] in PSUM += the mask of the tile.
  void add_turned(const isa::View& scores, std::int64_t tile) const;

 private:
  isa::View load(std::int64_t mask, std::int64_t rows, std::int64_t columns) const;
  isa::View narrow(std::int64_t mask) const;

  isa::Kernel& k_;
  const AttentionConfig& c_;
  isa::View masks_, identity_;
  std::vector<isa::View> turned_;  // all of them as bfloat16, where they fit
};

// The pieces of a vector of n in HBM and where they lie in a tile [128, tiles]: whole columns, and the rest.
// body(memory [partitions, tiles], partitions, tiles).
template <class Body>
void for_vector(const isa::View& memory, std::int64_t n, const Body& body) {
  const std::int64_t whole = n / kTile, rest = n % kTile;
  if (whole > 0)
    body(memory(isa::ds(0, whole * kTile)).reshape_dim(0, {whole, kTile}).permute({1, 0}), isa::ds(0, kTile),
         isa::ds(0, whole));
  if (rest > 0) body(memory(isa::ds(whole * kTile, rest)).expand_dim(1), isa::ds(0, rest), isa::ds(whole, 1));
}

// body(first, count, value) for runs of equal values among `count` ones.
template <class Value, class Body>
void for_runs(std::int64_t count, const Value& value, const Body& body) {
  for (std::int64_t i = 0; i < count;) {
    std::int64_t end = i + 1;
    while (end < count && value(end) == value(i)) ++end;
    body(i, end - i, value(i));
    i = end;
  }
}

// `tiles` pieces of n side by side.
std::vector<Piece> equal_pieces(std::int64_t tiles, std::int64_t n);

// Columns of x [m, tiles n] dealt out to the tiles, [m, tiles, n]: once turned, a partition has rows that lie side by
// side in memory, which DMAs write faster than many short ones.
isa::View interleaved(const isa::View& x, std::int64_t tiles);
// Stores such rows, out [n, tiles, head], from a tile of a matrix [rows, head] on.
void store_interleaved(isa::Kernel& k, const isa::View& matrix, std::int64_t tile, const isa::View& out);

// The share of their rate that DMAs need for turning tiles in SBUF so that they are quicker at it than others.
inline constexpr double kFastTurns = 0.4;

// Several tiles of at most 128 x 128 side by side, each turned: to [n, tiles, m] from data [m, width]. By DMAs where
// they are fast at it; else, and with a number, by the tensor engine and the two that empty PSUM in turn.
void turn_tiles(isa::Kernel& k, const isa::View& to, const isa::View& data, const std::vector<Piece>& tiles,
                std::optional<std::size_t> number = {});

}  // namespace kiln::kernels
