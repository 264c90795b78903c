#include <cstring>

#include "kiln/num/plain/plain.h"

namespace kiln::plain {

void interleave(const Interleaved& from, void* out, std::ptrdiff_t out_step) {
  constexpr std::ptrdiff_t kBytes = 4;
  for (std::size_t row = 0; row < from.rows; ++row) {
    const auto r = static_cast<std::ptrdiff_t>(row);
    const std::byte* source = static_cast<const std::byte*>(from.data) + r * from.row_step * kBytes;
    std::byte* to = static_cast<std::byte*>(out) + r * out_step * kBytes;
    for (std::size_t i = 0; i < from.n; ++i, source += from.step * kBytes) {
      const std::byte* at = source;
      for (std::size_t j = 0; j < from.count; ++j, at += from.between * kBytes, to += kBytes)
        std::memcpy(to, at, kBytes);
    }
  }
}

}  // namespace kiln::plain
