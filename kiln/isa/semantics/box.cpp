#include "kiln/isa/semantics/box.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

namespace kiln::isa {

std::optional<TileDims> dims_of(const Tile& t) {
  const std::int64_t size = t.element_bytes();
  if (t.row_offset || t.column || t.row_bytes % size != 0) return std::nullopt;
  TileDims of;
  of.dims[of.rank++] = {t.row_bytes / size, t.rows};
  if (t.free_rank == 0) of.dims[of.rank++] = {1, t.free_size};
  for (int d = 0; d < t.free_rank; ++d) of.dims[of.rank++] = t.free[d];
  return of;
}

std::optional<Box> box_between(const Tile& dst, const Tile& src) {
  std::optional<TileDims> to = dims_of(dst), from = dims_of(src);
  if (!to || !from || dst.count() != src.count()) return std::nullopt;
  Box box;
  for (std::int64_t left = dst.count(); left > 1;) {
    const Dim there = to->inner(), here = from->inner();
    const std::int64_t count = std::min(there.count, here.count);
    if (count < 2 || there.stride == 0 || there.count % count || here.count % count) return std::nullopt;
    box.add({count, here.stride, there.stride});
    to->take(count);
    from->take(count);
    left /= count;
  }
  return box;
}

template <class Word>
void move_words(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step, std::int64_t n) {
  const auto each = [&](auto there, auto here) {
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(to + i * there * std::int64_t{sizeof(Word)}, from + i * here * std::int64_t{sizeof(Word)},
                  sizeof(Word));
  };
  constexpr std::integral_constant<std::int64_t, 1> kOne;
  constexpr std::integral_constant<std::int64_t, 2> kTwo;
  if (to_step == 1 && from_step == 0) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    std::fill_n(reinterpret_cast<Word*>(to), n, word);
  } else if (to_step == 1 && from_step == 2) {
    each(kOne, kTwo);
  } else if (to_step == 2 && from_step == 1) {
    each(kTwo, kOne);
  } else {
    each(to_step, from_step);
  }
}
template void move_words<std::uint8_t>(std::byte*, std::int64_t, const std::byte*, std::int64_t, std::int64_t);
template void move_words<std::uint16_t>(std::byte*, std::int64_t, const std::byte*, std::int64_t, std::int64_t);
template void move_words<std::uint32_t>(std::byte*, std::int64_t, const std::byte*, std::int64_t, std::int64_t);

// Longest steps of what is written first, and axes that go on where the next one ends as one.
void Box::arrange() {
  for (int i = 1; i < rank_; ++i) {  // few, and mostly in order
    for (int j = i; j > 0 && std::abs(axes_[j].to) > std::abs(axes_[j - 1].to); --j) std::swap(axes_[j], axes_[j - 1]);
  }
  int n = 0;
  for (int i = 0; i < rank_; ++i) {
    const Axis next = axes_[i];
    if (n > 0 && axes_[n - 1].from == next.from * next.count && axes_[n - 1].to == next.to * next.count) {
      axes_[n - 1] = {next.count * axes_[n - 1].count, next.from, next.to};
    } else {
      axes_[n++] = next;
    }
  }
  rank_ = n;
  const bool is_plain = n > 0 && axes_[n - 1].to == 1 && axes_[n - 1].from == 1;
  way_ = n == 0 ? Way::one : is_plain ? Way::blocks : arrange_squares() ? Way::squares : Way::steps;
}

// Whether the last axis has no gaps where it is written, and another one none where it is read: a matrix and its
// transpose. That one becomes the last.
bool Box::arrange_squares() {
  const Axis across = axes_[rank_ - 1];
  Axis* const down = std::find_if(axes_, axes_ + rank_ - 1, [](const Axis& a) { return a.from == 1; });
  if (across.to != 1 || across.from == 0 || down == axes_ + rank_ - 1) return false;
  std::rotate(down, down + 1, axes_ + rank_);
  return true;
}

template <class Fn>
void Box::for_outer(int outer, int size, const std::byte* from, std::byte* to, Fn&& fn) const {
  std::int64_t index[kMostAxes] = {}, from_offset = 0, to_offset = 0;
  while (true) {
    fn(from + from_offset * size, to + to_offset * size);
    int a = outer - 1;
    for (; a >= 0; --a) {
      const Axis& axis = axes_[a];
      from_offset += axis.from, to_offset += axis.to;
      if (++index[a] < axis.count) break;
      from_offset -= axis.from * axis.count, to_offset -= axis.to * axis.count;
      index[a] = 0;
    }
    if (a < 0) return;
  }
}

namespace {

// `count` pieces of so many bytes; constant sizes make moves of calls.
void move_pieces(std::int64_t bytes, std::int64_t count, const std::byte* from, std::int64_t from_step, std::byte* to,
                 std::int64_t to_step) {
  const auto each = [&](auto n) {
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * to_step, from + i * from_step, static_cast<std::size_t>(n));
  };
  switch (bytes) {
    case 2:
      return each(std::integral_constant<std::int64_t, 2>());
    case 4:
      return each(std::integral_constant<std::int64_t, 4>());
    case 8:
      return each(std::integral_constant<std::int64_t, 8>());
    case 16:
      return each(std::integral_constant<std::int64_t, 16>());
    case 32:
      return each(std::integral_constant<std::int64_t, 32>());
    case 64:
      return each(std::integral_constant<std::int64_t, 64>());
    default:
      return each(bytes);
  }
}

}  // namespace

// The last axis has no gaps on either side.
void Box::move_blocks(int size, const std::byte* from, std::byte* to) const {
  const std::int64_t bytes = axes_[rank_ - 1].count * size;
  const Axis next = rank_ > 1 ? axes_[rank_ - 2] : Axis{1, 0, 0};
  for_outer(rank_ - 2, size, from, to, [&](const std::byte* here, std::byte* there) {
    move_pieces(bytes, next.count, here, next.from * size, there, next.to * size);
  });
}

void Box::move_squares(const Kernels& k, int size, const std::byte* from, std::byte* to) const {
  const Axis across = axes_[rank_ - 2], columns = axes_[rank_ - 1];
  for_outer(rank_ - 2, size, from, to, [&](const std::byte* here, std::byte* there) {
    k.transpose(size, here, across.from, there, columns.to, across.count, columns.count);
  });
}

std::optional<std::uint32_t> Box::move_numbers(const Kernels& k, int size, const std::byte* from, std::byte* to) {
  if (way_ == Way::unknown) arrange();
  if (way_ != Way::squares) return std::nullopt;
  const Axis across = axes_[rank_ - 2], columns = axes_[rank_ - 1];
  std::uint32_t largest = 0;
  for_outer(rank_ - 2, size, from, to, [&](const std::byte* here, std::byte* there) {
    const std::uint32_t of_matrix =
        k.transpose_numbers(size, here, across.from, there, columns.to, across.count, columns.count);
    largest = std::max(largest, of_matrix);
  });
  return largest;
}

// Words of which every second one is read or written, as parts of complex numbers lie, by vectors.
bool Box::move_parts(const Kernels& k, const std::byte* from, std::byte* to) const {
  const Axis inner = axes_[rank_ - 1];
  const auto n = static_cast<std::size_t>(inner.count);
  const bool takes = inner.to == 1 && inner.from == 2, puts = inner.to == 2 && inner.from == 1;
  if (!takes && !puts) return false;
  for_outer(rank_ - 1, sizeof(std::uint32_t), from, to, [&](const std::byte* here, std::byte* there) {
    takes ? k.load_bits(sizeof(std::uint32_t), here, inner.from, n, reinterpret_cast<std::uint32_t*>(there))
          : k.store_bits(sizeof(std::uint32_t), reinterpret_cast<const std::uint32_t*>(here), n, there, inner.to);
  });
  return true;
}

// Words that are written without a gap, from up to a few runs by turns, by vectors.
bool Box::move_runs(const Kernels& k, const std::byte* from, std::byte* to) {
  constexpr std::int64_t kFewRuns = 8, kFar = 8, kLanes = 16, kWorthALook = 1024;  // words for each vector of a pattern
  const Axis inner = axes_[rank_ - 1], next = rank_ > 1 ? axes_[rank_ - 2] : Axis{1, 0, 0};
  const bool take_turns = inner.count <= kFewRuns && next.to == inner.count;
  if (inner.to != 1 || inner.from == 0 || (!take_turns && std::abs(inner.from) > kFar)) return false;
  const std::int64_t count = take_turns ? inner.count : 1, n = take_turns ? next.count : inner.count;
  const int rows = rank_ - (take_turns ? 3 : 2);
  if (rows > 0) {  // as many as there are: each call finds out how vectors come together
    const auto is_shorter = [](const Axis& a, const Axis& b) { return a.count < b.count; };
    std::swap(*std::max_element(axes_, axes_ + rows + 1, is_shorter), axes_[rows]);
  }
  const Axis outer = rows >= 0 ? axes_[rows] : Axis{1, 0, 0};
  if (outer.count * count * n < kWorthALook * (count / std::gcd(count, kLanes))) return false;
  Interleaved runs{.data = nullptr,
                   .row_step = outer.from,
                   .between = take_turns ? inner.from : 0,
                   .step = take_turns ? next.from : inner.from,
                   .rows = static_cast<std::size_t>(outer.count),
                   .count = static_cast<std::size_t>(count),
                   .n = static_cast<std::size_t>(n)};
  for_outer(std::max(rows, 0), sizeof(std::uint32_t), from, to, [&](const std::byte* here, std::byte* there) {
    runs.data = here;
    k.interleave(runs, there, outer.to);
  });
  return true;
}

template <class Word>
void Box::move_steps(const std::byte* from, std::byte* to) const {
  const Axis inner = axes_[rank_ - 1];
  for_outer(rank_ - 1, sizeof(Word), from, to, [&](const std::byte* here, std::byte* there) {
    move_words<Word>(there, inner.to, here, inner.from, inner.count);
  });
}

void Box::move(const Kernels& k, int size, const std::byte* from, std::byte* to) {
  if (way_ == Way::unknown) arrange();
  if (way_ == Way::one) return static_cast<void>(std::memcpy(to, from, static_cast<std::size_t>(size)));
  if (way_ == Way::blocks) return move_blocks(size, from, to);
  if (way_ == Way::squares) return move_squares(k, size, from, to);
  if (size == 4 && (move_parts(k, from, to) || move_runs(k, from, to))) return;
  if (size == 4) return move_steps<std::uint32_t>(from, to);
  if (size == 2) return move_steps<std::uint16_t>(from, to);
  move_steps<std::uint8_t>(from, to);
}

}  // namespace kiln::isa
