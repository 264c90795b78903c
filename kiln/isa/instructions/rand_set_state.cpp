#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/instructions/shared/rand_state.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::rand_set_state {
namespace {
using namespace args::rand_set_state;

constexpr Rule kNotAllZero{3, "the words x, y, z, w, v of a state are not all zero: the generator would only count",
                           "set at least one of the five words", Mark::undocumented};

constexpr Rule kRules[] = {rand_state_rules::kVectorGeneration, rand_state_rules::kTileShape, kNotAllZero};

void check(Check& c) { check_rand_state(c, src_seeds); }

unsigned state(const InstView& v) { return random_state_bit(v, engine); }

void run(Run& r) {
  const Tile& t = r.tile(src_seeds);
  for (std::int64_t row = 0; row < t.rows; ++row) {
    for (std::int64_t number = 0; number < states_per_partition(r.engine()); ++number) {
      auto& words = generator(r, t, row, number).s;
      load_row_bits(r, t, row, number * kStateWords, kStateWords, words.data());
      if (std::all_of(words.begin(), words.end() - 1, [](auto w) { return w == 0; }))
        r.warn(kNotAllZero, fmt::format("state {} in row {} is zero", number, row));
    }
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(src_seeds)))}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "State s of partition p's generator = src_seeds[p, 6s .. 6s + 5], the words x, y, z, w, v, d of Marsaglia's "
        "xorwow. gpsimd has one state per partition, the vector engine four. Partitions that src_seeds does not cover "
        "keep their state.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "vector: 64; gpsimd: 150 + 6 (not documented)",
    .state = state,
};

}  // namespace kiln::isa::instruction::rand_set_state
