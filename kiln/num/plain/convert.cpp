#include <cstring>

#include "kiln/num/plain/plain.h"

namespace kiln::plain {

namespace {

const std::byte* at(const void* base, std::ptrdiff_t index, int size) {
  return static_cast<const std::byte*>(base) + index * size;
}
std::byte* at(void* base, std::ptrdiff_t index, int size) { return static_cast<std::byte*>(base) + index * size; }

}  // namespace

void load(DType t, const void* src, std::ptrdiff_t stride, std::size_t n, float* dst) {
  for (std::size_t i = 0; i < n; ++i)
    dst[i] = to_float(t, kiln::load_bits(t, at(src, static_cast<std::ptrdiff_t>(i) * stride, size_bytes(t))));
}

void store(DType t, const float* src, std::size_t n, void* dst, std::ptrdiff_t stride) {
  for (std::size_t i = 0; i < n; ++i)
    kiln::store_bits(t, from_float(t, src[i]), at(dst, static_cast<std::ptrdiff_t>(i) * stride, size_bytes(t)));
}

void convert(DType from, const void* src, DType to, std::size_t n, void* dst) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto index = static_cast<std::ptrdiff_t>(i);
    const float value = to_float(from, kiln::load_bits(from, at(src, index, size_bytes(from))));
    kiln::store_bits(to, from_float(to, value), at(dst, index, size_bytes(to)));
  }
}

// The machine is little-endian, so the low bytes of a 32-bit word are its first ones.
void load_bits(int size_bytes, const void* src, std::ptrdiff_t stride, std::size_t n, std::uint32_t* dst) {
  for (std::size_t i = 0; i < n; ++i) {
    dst[i] = 0;
    std::memcpy(&dst[i], at(src, static_cast<std::ptrdiff_t>(i) * stride, size_bytes), size_bytes);
  }
}

void store_bits(int size_bytes, const std::uint32_t* src, std::size_t n, void* dst, std::ptrdiff_t stride) {
  for (std::size_t i = 0; i < n; ++i)
    std::memcpy(at(dst, static_cast<std::ptrdiff_t>(i) * stride, size_bytes), &src[i], size_bytes);
}

}  // namespace kiln::plain
