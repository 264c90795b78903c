// Grid: tiles of float32 that an operator walks together where they lie, as matrices whose rows have no gaps. Nothing
// is brought together first, and one call of a kernel serves many rows.
#pragma once

#include <span>

#include "kiln/isa/semantics/run.h"

namespace kiln::isa {

// An operand beside the result: a tile of its shape, or a column whose elements stand for whole rows.
struct GridInput {
  const Tile* tile = nullptr;
  bool is_column = false;
};

inline constexpr std::size_t kGridInputs = 4;

// A piece: `rows` rows of n floats.
struct GridPiece {
  std::size_t rows, n;
  FloatRows in[kGridInputs];
  float* out;
  std::ptrdiff_t out_step;
};

// Calls body for pieces of at most `most` floats that make up the result; it gives the largest magnitude of what it
// wrote to `out`. False when the tiles are no such matrices, or when the run is the definition, which walks another
// way; then nothing was done.
bool map_grid(const Run& r, const Tile& dst, std::span<const GridInput> inputs, std::size_t most,
              FunctionRef<std::uint32_t(const GridPiece&)> body);

// The same of tiles whose innermost elements are pairs, as the parts of complex numbers lie, or the first numbers of
// pairs alone: `rows` rows of n pairs.
struct PairPiece {
  std::size_t rows, n;
  FloatPairs in[2];
  float* out;
  std::ptrdiff_t out_step;
  bool first_only;
};
bool map_pairs(const Run& r, const Tile& dst, const Tile& a, const Tile& b,
               FunctionRef<std::uint32_t(const PairPiece&)> body);

// Where the kernel alone decides.
inline constexpr std::size_t kAnyPiece = std::size_t{1} << 30;

// The operands of a grid, among which may be numbers. Each is known by what adding it gave.
class GridInputs {
 public:
  explicit GridInputs(const Run& r) : r_(r) {}
  int add(const Tile& tile) { return put({&tile}); }
  // A parameter that is a number, 0 when it is not there, or a column.
  int add_operand(int param) {
    if (r_.is_tile(param)) return put({&r_.tile(param), true});
    numbers_[count_numbers_] = r_.has(param) ? static_cast<float>(r_.real(param)) : 0.0f;
    return -1 - count_numbers_++;
  }
  std::span<const GridInput> tiles() const { return {tiles_, count_}; }
  FloatRows of(const GridPiece& piece, int input) const {
    return input >= 0 ? piece.in[input] : FloatRows{&numbers_[-1 - input], 0, true};
  }

 private:
  int put(const GridInput& input) {
    tiles_[count_] = input;
    return static_cast<int>(count_++);
  }
  const Run& r_;
  GridInput tiles_[kGridInputs];
  std::size_t count_ = 0;
  float numbers_[kGridInputs];
  int count_numbers_ = 0;
};

}  // namespace kiln::isa
