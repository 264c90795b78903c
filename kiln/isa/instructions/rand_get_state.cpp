#include "kiln/isa/instructions/shared/rand_state.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::rand_get_state {
namespace {
using namespace args::rand_get_state;

constexpr Rule kRules[] = {rand_state_rules::kVectorGeneration, rand_state_rules::kTileShape};

void check(Check& c) { check_rand_state(c, dst); }

unsigned state(const InstView& v) { return random_state_bit(v, engine); }

void run(Run& r) {
  const Tile& t = r.tile(dst);
  for (std::int64_t row = 0; row < t.rows; ++row) {
    for (std::int64_t number = 0; number < states_per_partition(r.engine()); ++number)
      store_row_bits(r, t, row, number * kStateWords, kStateWords, generator(r, t, row, number).s.data());
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(dst)))}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[p, 6s .. 6s + 5] = the words x, y, z, w, v, d of state s of partition p's generator (Marsaglia's xorwow). "
        "gpsimd has one state per partition, the vector engine four.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "vector: 64; gpsimd: 150 + 6 (not documented)",
    .state = state,
};

}  // namespace kiln::isa::instruction::rand_get_state
