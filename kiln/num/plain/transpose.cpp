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

}  // namespace kiln::plain
