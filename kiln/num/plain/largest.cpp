#include <algorithm>
#include <cstring>

#include "kiln/num/plain/plain.h"

namespace kiln::plain {

std::uint32_t largest(int size_bytes, const void* src, std::ptrdiff_t stride, std::size_t n) {
  const std::uint32_t magnitude = 0xffffffffu >> (33 - 8 * size_bytes);
  const auto* at = static_cast<const std::byte*>(src);
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < n; ++i, at += stride * size_bytes) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, size_bytes);
    found = std::max(found, bits & magnitude);
  }
  return found;
}

}  // namespace kiln::plain
