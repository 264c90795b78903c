// Threefry2x32 with 20 rounds: two words of a counter, mixed with two words of a key. What the oracle computes and what
// becomes ops (passes/expand_random.cpp) are the same lines.
#pragma once

#include <array>
#include <cstdint>

namespace kiln::tensor {

inline constexpr std::uint32_t kThreefryParity = 0x1bd11bda;

// Word has + and ^ modulo 2^32; rotate(x, n) turns x to the left; number(i) is a Word.
template <class Word, class Rotate, class Number>
std::array<Word, 2> threefry(const std::array<Word, 2>& key, const std::array<Word, 2>& counter, const Rotate& rotate,
                             const Number& number) {
  constexpr int kTurns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const std::array<Word, 3> keys{key[0], key[1], key[0] ^ key[1] ^ number(kThreefryParity)};
  std::array<Word, 2> x{counter[0] + keys[0], counter[1] + keys[1]};
  for (int group = 0; group < 5; ++group) {
    for (const int turn : kTurns[group % 2]) {
      x[0] = x[0] + x[1];
      x[1] = rotate(x[1], turn) ^ x[0];
    }
    x[0] = x[0] + keys[(group + 1) % 3];
    x[1] = x[1] + keys[(group + 2) % 3] + number(static_cast<std::uint32_t>(group + 1));
  }
  return x;
}

}  // namespace kiln::tensor
