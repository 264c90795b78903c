// Rows of float32 and of raw words that aim at the corners: specials, ties, subnormals, range ends, any bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "tests/seed.h"

namespace kiln::test {

class RandomRows {
 public:
  explicit RandomRows(std::uint64_t salt = 0) : engine_(seed() + salt) {}

  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  std::uint32_t below(std::uint32_t limit) { return word() % limit; }

  float special() {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {0.0f,
                                 1.0f,
                                 0.5f,
                                 2.0f,
                                 kInf,
                                 0x1p-149f,
                                 0x1.fffffcp-127f,
                                 0x1p-126f,
                                 0x1.fffffep127f,
                                 127.5f,
                                 255.5f,
                                 32767.5f,
                                 65535.5f,
                                 2147483648.0f,
                                 4294967296.0f,
                                 4294967040.0f,
                                 65504.0f,
                                 65520.0f,
                                 448.0f,
                                 464.0f,
                                 240.0f,
                                 248.0f,
                                 57344.0f,
                                 61440.0f,
                                 15.5f,
                                 15.75f};
    const auto pick = below(std::size(kValues) + 2);
    if (pick >= std::size(kValues)) return std::bit_cast<float>(0x7f800001u | word());  // a NaN, mostly with payload
    return below(2) ? kValues[pick] : -kValues[pick];
  }

  float value() {
    const float any = std::bit_cast<float>(word());
    switch (below(6)) {
      case 0:
        return special();
      case 1:
        return any;
      case 2:
        return static_cast<float>(static_cast<std::int32_t>(below(1024)) - 512) * 0.5f;  // ties of integers
      case 3:
        return std::bit_cast<float>(word() & 0xffff8000u);  // ties of short mantissas
      case 4:
        return std::ldexp(static_cast<float>(below(4096)) - 2048.0f, -static_cast<int>(below(30)));
      default:
        return std::uniform_real_distribution<float>(-4, 4)(engine_);
    }
  }

  std::vector<float> floats(std::size_t n) {
    std::vector<float> row(n);
    for (float& x : row) x = value();
    return row;
  }
  // Values near one, so that long sums and products stay finite.
  std::vector<float> tame_floats(std::size_t n) {
    std::vector<float> row(n);
    for (float& x : row) x = std::uniform_real_distribution<float>(-1.25f, 1.25f)(engine_);
    return row;
  }
  std::vector<std::uint32_t> words(std::size_t n, int width_bits = 32) {
    std::vector<std::uint32_t> row(n);
    for (auto& x : row)
      x = (below(3) ? word() : below(40)) >> (below(3) ? 32 - width_bits : 0) & (~0u >> (32 - width_bits));
    return row;
  }
  std::vector<std::uint8_t> bytes(std::size_t n) {
    std::vector<std::uint8_t> row(n);
    for (auto& x : row) x = static_cast<std::uint8_t>(word());
    return row;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace kiln::test
