#include <algorithm>
#include <cstring>

#include "kiln/num/plain/plain.h"

namespace kiln::plain {

void transpose(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride,
               std::size_t rows, std::size_t cols) {
  const auto* from = static_cast<const std::byte*>(src);
  auto* to = static_cast<std::byte*>(dst);
  const auto height = static_cast<std::ptrdiff_t>(rows), width = static_cast<std::ptrdiff_t>(cols);
  for (std::ptrdiff_t r = 0; r < height; ++r)
    for (std::ptrdiff_t c = 0; c < width; ++c)
      std::memcpy(to + (c * dst_stride + r) * size_bytes, from + (r * src_stride + c) * size_bytes, size_bytes);
}

namespace {

template <class Word>
std::uint32_t transpose_numbers(const std::byte* from, std::ptrdiff_t src_stride, std::byte* to,
                                std::ptrdiff_t dst_stride, std::ptrdiff_t rows, std::ptrdiff_t cols) {
  constexpr auto kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  std::uint32_t largest = 0;
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    for (std::ptrdiff_t c = 0; c < cols; ++c) {
      Word word;
      std::memcpy(&word, from + (r * src_stride + c) * static_cast<std::ptrdiff_t>(sizeof word), sizeof word);
      if (word == kSign) word = 0;
      largest = std::max<std::uint32_t>(largest, word & static_cast<Word>(~kSign));
      std::memcpy(to + (c * dst_stride + r) * static_cast<std::ptrdiff_t>(sizeof word), &word, sizeof word);
    }
  }
  return largest;
}

}  // namespace

std::uint32_t transpose_numbers(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst,
                                std::ptrdiff_t dst_stride, std::size_t rows, std::size_t cols) {
  const auto with = size_bytes == 4 ? transpose_numbers<std::uint32_t> : transpose_numbers<std::uint16_t>;
  return with(static_cast<const std::byte*>(src), src_stride, static_cast<std::byte*>(dst), dst_stride,
              static_cast<std::ptrdiff_t>(rows), static_cast<std::ptrdiff_t>(cols));
}

}  // namespace kiln::plain
