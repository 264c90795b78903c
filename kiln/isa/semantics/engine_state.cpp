#include "kiln/isa/semantics/engine_state.h"

namespace kiln::isa {

Xorwow Xorwow::seeded(std::uint64_t seed) {
  Xorwow g;
  // splitmix64: neighbouring seeds give unrelated states, and never the all-zero one.
  for (std::size_t i = 0; i < g.s.size(); ++i) {
    std::uint64_t z = (seed += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    g.s[i] = static_cast<std::uint32_t>((z ^ (z >> 31)) >> 16) | (i == 0);
  }
  return g;
}

EngineState::EngineState() {
  seed_vector_random(0);
  // Beyond every seed of the vector engine, whose upper limit is 2^41.
  for (std::uint64_t p = 0; p < kMaxPartitions; ++p) gpsimd_random[p] = Xorwow::seeded((std::uint64_t{1} << 41) + p);
}

void EngineState::seed_vector_random(std::uint32_t seed) {
  for (std::uint64_t p = 0; p < kMaxPartitions; ++p) {
    for (std::uint64_t slot = 0; slot < 4; ++slot)
      vector_random[p][slot] = Xorwow::seeded(seed * std::uint64_t{512} + p * 4 + slot);
  }
}

}  // namespace kiln::isa
