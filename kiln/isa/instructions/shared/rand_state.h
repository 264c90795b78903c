// What rand_set_state and rand_get_state share: where the words of a generator's state lie in a tile.
#pragma once

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/engine_state.h"
#include "kiln/isa/semantics/run.h"

namespace kiln::isa {

inline constexpr int kStateWords = 6;  // x, y, z, w, v, d of Marsaglia's xorwow
inline constexpr int kVectorStates = 4;

// States of one partition: one on gpsimd, four on the vector engine, side by side in the tile.
inline std::int64_t states_per_partition(Engine engine) { return engine == Engine::vector ? kVectorStates : 1; }

inline Xorwow& generator(Run& r, const Tile& tile, std::int64_t row, std::int64_t number) {
  const std::int64_t lane = tile.lane + row;
  return r.engine() == Engine::vector ? r.state().vector_random[lane][number] : r.state().gpsimd_random[lane];
}

inline unsigned random_state_bit(const InstView& v, int engine_param) {
  return v.get<Engine>(engine_param) == Engine::vector ? kVectorRandom : kGpsimdRandom;
}

// The rules that both instructions have under the same numbers.
namespace rand_state_rules {
inline constexpr Rule kVectorGeneration{1, "the vector engine's states can be reached from gen4 on",
                                        "use engine.gpsimd, or set_rng_seed below trn3"};
inline constexpr Rule kTileShape{
    2, "the tile is (P, 6) for gpsimd and (P, 24) for the vector engine: six words for each of its four states",
    "allocate one row of words per partition"};
}  // namespace rand_state_rules
void check_rand_state(Check& c, int tile);

}  // namespace kiln::isa
