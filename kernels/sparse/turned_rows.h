// TurnedRows: tiles of 128 rows of a matrix [rows, head], turned with the head on the partitions; or of two such
// matrices with heads of 64, the second one on the other half of the partitions.
#pragma once

#include "kernels/sparse/attention_parts.h"

namespace kiln::kernels {

inline constexpr std::int64_t kLane = 64;  // heads of this size go two by two, each in one half of the tensor engine
// Pieces of them that are multiplied one after the other: scores need its upper and its lower half, what comes of the
// weights its left and its right one, so that each kind waits for the other.
inline constexpr std::size_t kHalvesTogether = 4;

class TurnedRows {
 public:
  // All tiles stay in SBUF with `stays`, else each use loads its own; `is_awaited` as HeadRows has it, of one matrix.
  TurnedRows(isa::Kernel& k, std::vector<isa::View> matrices, bool stays, bool is_awaited = false);
  // [128, pieces of the head, width] of `count` tiles from t on.
  isa::View turned(std::int64_t t, std::int64_t count = 1);

 private:
  std::int64_t height(std::int64_t t) const { return std::min(kTile, matrices_[0].dim(0) - t * kTile); }
  std::int64_t width(const Piece& tiles) const {
    return (tiles.size - 1) * kTile + height(tiles.start + tiles.size - 1);
  }
  void load(const isa::View& to, const Piece& tiles) const;

  isa::Kernel& k_;
  std::vector<isa::View> matrices_;
  bool stays_;
  HeadRows alone_;
  isa::View both_;
  std::vector<bool> loaded_;
};

}  // namespace kiln::kernels
