// Hidden state of a core's engines that outlives an instruction.
#pragma once

#include <array>
#include <cstdint>

#include "kiln/arch/arch.h"

namespace kiln::isa {

// Marsaglia's xorwow: five words and a counter. One generator per partition (and, on the vector engine, per
// slot).
struct Xorwow {
  std::array<std::uint32_t, 6> s{};  // x, y, z, w, v, d
  std::uint32_t next() {
    const std::uint32_t t = s[0] ^ (s[0] >> 2);
    s = {s[1], s[2], s[3], s[4], (s[4] ^ (s[4] << 4)) ^ (t ^ (t << 1)), s[5] + 362437};
    return s[5] + s[4];
  }
  static Xorwow seeded(std::uint64_t seed);
};

struct EngineState {
  std::array<float, kMaxPartitions> act_registers{};        // scalar engine: reduction registers
  std::array<float, kMaxPartitions> vector_accumulators{};  // vector engine
  std::array<std::array<Xorwow, 4>, kMaxPartitions> vector_random;
  std::array<Xorwow, kMaxPartitions> gpsimd_random;
  EngineState();
  // Starts every state of the vector engine anew; a core begins with seed 0.
  void seed_vector_random(std::uint32_t seed);
};

// What an instruction touches of it, as bits: instructions that share a bit keep program order.
enum StateBit : unsigned { kActRegisters = 1, kVectorAccumulators = 2, kVectorRandom = 4, kGpsimdRandom = 8 };

}  // namespace kiln::isa
