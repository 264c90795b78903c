#include <fmt/format.h>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::set_rng_seed {
namespace {
using namespace args::set_rng_seed;

constexpr Rule kOneElement{1, "src_seeds is one element, (1, 1)", "slice src_seeds to one element"};
constexpr Rule kXorwowSeed{2, "what the seed does to the xorwow generator of gen4 is not documented",
                           "set the state of the generator with rand_set_state", Mark::undocumented};

constexpr Rule kRules[] = {kOneElement, kXorwowSeed};

void check(Check& c) {
  c.require(kOneElement, c.access(src_seeds).count() == 1, src_seeds);
  c.advise(kXorwowSeed, !c.arch().features.vector_xorwow,
           [&] { return fmt::format("the target is {}", c.arch().generation_name); });
}

unsigned state(const InstView&) { return kVectorRandom; }

void run(Run& r) {
  std::uint32_t seed;
  load_row_bits(r, r.tile(src_seeds), 0, 0, 1, &seed);
  r.state().seed_vector_random(seed);
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(1)}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "All states of the vector engine's generator start anew from the 32 bits of src_seeds: the same seed gives the "
        "same random numbers. State s of partition p takes the upper bits (47 to 16) of six outputs of splitmix64 "
        "seeded with 512 * seed + 4p + s, the first word with its lowest bit set. A core starts with seed 0.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "64 (not documented)",
    .state = state,
};

}  // namespace kiln::isa::instruction::set_rng_seed
