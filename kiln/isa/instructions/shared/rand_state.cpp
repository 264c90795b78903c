#include "kiln/isa/instructions/shared/rand_state.h"

#include <fmt/format.h>

namespace kiln::isa {

void check_rand_state(Check& c, int tile) {
  c.require(rand_state_rules::kVectorGeneration, c.engine() != Engine::vector || c.arch().features.vector_xorwow,
            [&] { return fmt::format("engine is vector on {}", c.arch().generation_name); });
  c.require(rand_state_rules::kTileShape,
            c.rank(tile) == 2 && c.free_size(tile) == states_per_partition(c.engine()) * kStateWords, tile,
            [&] { return fmt::format("engine is {}, {}", name(c.engine()), c.describe(tile)); });
}

}  // namespace kiln::isa
