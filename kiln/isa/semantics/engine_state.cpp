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

namespace {

using VectorRandom = decltype(EngineState::vector_random);
using GpsimdRandom = decltype(EngineState::gpsimd_random);

VectorRandom vector_seeded(std::uint32_t seed) {
  VectorRandom out;
  for (std::uint64_t p = 0; p < kMaxPartitions; ++p) {
    for (std::uint64_t slot = 0; slot < 4; ++slot)
      out[p][slot] = Xorwow::seeded(seed * std::uint64_t{512} + p * 4 + slot);
  }
  return out;
}

// Beyond every seed of the vector engine, whose upper limit is 2^41.
GpsimdRandom gpsimd_seeded() {
  GpsimdRandom out;
  for (std::uint64_t p = 0; p < kMaxPartitions; ++p) out[p] = Xorwow::seeded((std::uint64_t{1} << 41) + p);
  return out;
}

// What a core begins with is worked out once: short programs take less time than that.
const VectorRandom& first_vector() {
  static const VectorRandom first = vector_seeded(0);
  return first;
}
const GpsimdRandom& first_gpsimd() {
  static const GpsimdRandom first = gpsimd_seeded();
  return first;
}

}  // namespace

EngineState::EngineState() : vector_random(first_vector()), gpsimd_random(first_gpsimd()) {}

void EngineState::seed_vector_random(std::uint32_t seed) { vector_random = vector_seeded(seed); }

}  // namespace kiln::isa
