#include "kiln/sim/magnitude.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace kiln::sim {

namespace {

std::uint32_t find_first_nonfinite(DType t) {
  const DTypeInfo& row = info(t);
  const std::uint32_t last = (1u << (8 * row.size_bytes - 1)) - 1;
  if (!row.has_infinity) return last;
  return magnitude_of(t, from_float(t, std::numeric_limits<float>::infinity()));
}

}  // namespace

namespace internal {
const std::array<std::uint32_t, kDTypeCount> kFirstNonfinite = by_dtype(find_first_nonfinite);
}

std::uint32_t magnitude_of(DType t, std::uint32_t bits) { return bits & ((1u << (8 * size_bytes(t) - 1)) - 1); }

namespace {

// Runs so short that a call per run costs more than their elements.
constexpr std::int64_t kShortRow = 64;

template <class Word>
std::uint32_t largest_of(const isa::Tile& tile, std::int64_t row) {
  constexpr Word kMask = static_cast<Word>(~Word{0}) >> 1;
  Word found = 0;
  isa::for_runs(tile, row, 0, tile.free_size, [&](std::byte* at, std::int64_t stride, std::int64_t n, std::int64_t) {
    for (std::int64_t i = 0; i < n; ++i) {
      Word word;
      std::memcpy(&word, at + i * stride * static_cast<std::int64_t>(sizeof word), sizeof word);
      found = std::max(found, static_cast<Word>(word & kMask));
    }
  });
  return found;
}

// Rows without gaps that are too short for a call each.
template <class Word>
std::uint32_t largest_of_short_rows(const isa::Tile& tile) {
  constexpr Word kMask = static_cast<Word>(~Word{0}) >> 1;
  constexpr std::int64_t kWidth = 4;
  const auto n = tile.free_size;
  Word found[kWidth] = {};
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const std::byte* at = tile.data + row * tile.row_bytes;
    std::int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      Word words[kWidth];
      std::memcpy(words, at + i * static_cast<std::int64_t>(sizeof(Word)), sizeof words);
      for (std::int64_t j = 0; j < kWidth; ++j) found[j] = std::max(found[j], static_cast<Word>(words[j] & kMask));
    }
    for (; i < n; ++i) {
      Word word;
      std::memcpy(&word, at + i * static_cast<std::int64_t>(sizeof word), sizeof word);
      found[0] = std::max(found[0], static_cast<Word>(word & kMask));
    }
  }
  return *std::max_element(std::begin(found), std::end(found));
}

std::uint32_t largest_of_row(const Kernels& kernels, const isa::Tile& tile, std::int64_t row) {
  const int size = static_cast<int>(tile.element_bytes());
  if (tile.free_size < kShortRow && size == 4) return largest_of<std::uint32_t>(tile, row);
  if (tile.free_size < kShortRow && size == 2) return largest_of<std::uint16_t>(tile, row);
  std::uint32_t found = 0;
  isa::for_runs(tile, row, 0, tile.free_size, [&](std::byte* at, std::int64_t stride, std::int64_t n, std::int64_t) {
    found = std::max(found, kernels.largest(size, at, stride, n));
  });
  return found;
}

}  // namespace

std::uint32_t largest_magnitude(const Kernels& kernels, const isa::Tile& tile) {
  const int size = static_cast<int>(tile.element_bytes());
  if (tile.is_dense()) return kernels.largest(size, tile.data, 1, tile.count());
  if (tile.free_size < kShortRow && tile.row_is_contiguous() && !tile.row_offset && size != 1)
    return size == 4 ? largest_of_short_rows<std::uint32_t>(tile) : largest_of_short_rows<std::uint16_t>(tile);
  std::uint32_t found = 0;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    if (tile.row_offset && tile.row_offset[row] == isa::kSkipRow) continue;
    found = std::max(found, largest_of_row(kernels, tile, row));
  }
  return found;
}

}  // namespace kiln::sim
