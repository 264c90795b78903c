// Box: elements that are equally spaced along each of some axes, here and there, such as a tile and its permuted copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kiln/isa/semantics/tile.h"
#include "kiln/num/kernels.h"

namespace kiln::isa {

// The dimensions of a tile without indices, rows first, steps in elements; what walks over several tiles takes off the
// inner ones piece by piece.
struct TileDims {
  int rank = 0;
  Dim dims[kMaxOperandRank + 1];

  // The innermost dimension that has more than one element, or the last one.
  Dim& inner() {
    while (rank > 1 && dims[rank - 1].count == 1) --rank;
    return dims[rank - 1];
  }
  void take(std::int64_t count) {
    Dim& d = inner();
    d.count /= count;
    d.stride *= count;
  }
};

// Nothing for rows that lie where indices say, or no whole number of elements apart.
std::optional<TileDims> dims_of(const Tile& t);

class Box {
 public:
  struct Axis {
    std::int64_t count, from, to;  // steps in elements
  };
  // Axes in any order.
  void add(const Axis& axis) {
    if (axis.count != 1) axes_[rank_++] = axis;
  }
  // Moves all elements, which are `size` bytes each. None that is written is one that is read. In what order they are
  // best moved is found out the first time.
  void move(const Kernels& k, int size, const std::byte* from, std::byte* to);
  // Numbers of float32 or bfloat16 as Kernels::transpose_numbers moves them, where that is what moves them best.
  // Returns the largest; nothing: no element was moved.
  std::optional<std::uint32_t> move_numbers(const Kernels& k, int size, const std::byte* from, std::byte* to);

 private:
  enum class Way : std::uint8_t { unknown, one, blocks, squares, steps };

  void arrange();
  bool arrange_squares();
  // The inner axes, of which the other ones repeat the move.
  template <class Fn>
  void for_outer(int outer, int size, const std::byte* from, std::byte* to, Fn&& fn) const;
  void move_blocks(int size, const std::byte* from, std::byte* to) const;
  void move_squares(const Kernels& k, int size, const std::byte* from, std::byte* to) const;
  bool move_parts(const Kernels& k, const std::byte* from, std::byte* to) const;
  bool move_runs(const Kernels& k, const std::byte* from, std::byte* to);
  template <class Word>
  void move_steps(const std::byte* from, std::byte* to) const;

  static constexpr int kMostAxes = 2 * (kMaxOperandRank + 1);
  int rank_ = 0;
  Way way_ = Way::unknown;
  Axis axes_[kMostAxes];
};

// The elements of `src` in the order of those of `dst`; nothing when no box holds them, since the dimensions of one do
// not divide those of the other.
std::optional<Box> box_between(const Tile& dst, const Tile& src);

// Elements one by one, `step` of them apart there and there; constant steps let the compiler vectorise.
template <class Word>
void move_words(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step, std::int64_t n);

// Calls fn(offset in elements, position, dimensions, rank) for the fewest boxes, `position` elements after each other,
// that elements [first, first + n) of `rank` dimensions make, in row-major order.
template <class Fn>
void for_boxes(const Dim* dims, int rank, std::int64_t first, std::int64_t n, Fn&& fn, std::int64_t offset = 0,
               std::int64_t position = 0) {
  const Dim outer = dims[0];
  std::int64_t inner = 1;
  for (int d = 1; d < rank; ++d) inner *= dims[d].count;
  std::int64_t index = first / inner;
  if (const std::int64_t skipped = first % inner; skipped > 0 && n > 0) {  // the rest of one
    const std::int64_t count = std::min(inner - skipped, n);
    for_boxes(dims + 1, rank - 1, skipped, count, fn, offset + index * outer.stride, position);
    position += count, n -= count, ++index;
  }
  if (const std::int64_t whole = n / inner; whole > 0) {
    Dim box[kMaxOperandRank + 1];
    std::copy_n(dims, rank, box);
    box[0].count = whole;
    fn(offset + index * outer.stride, position, box, rank);
    position += whole * inner, n -= whole * inner, index += whole;
  }
  if (n > 0) for_boxes(dims + 1, rank - 1, 0, n, fn, offset + index * outer.stride, position);
}

}  // namespace kiln::isa
