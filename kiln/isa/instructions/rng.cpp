#include <fmt/format.h>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::rng {
namespace {
using namespace args::rng;

constexpr Rule kGpsimdGeneration{1, "gpsimd makes random bits from gen3 on",
                                 "leave engine out to use the vector engine"};
constexpr Rule kEngineNamed{2, "engine is named; before release 0.5.0 it was unknown, which meant the vector engine",
                            "leave engine out, or pass engine.vector", Mark::historical};

constexpr Rule kRules[] = {kGpsimdGeneration, kEngineNamed};

void check(Check& c) {
  c.require(kGpsimdGeneration, c.engine() != Engine::gpsimd || c.arch().features.gpsimd_rng, engine,
            [&] { return fmt::format("engine is gpsimd on {}", c.arch().generation_name); });
  c.advise(kEngineNamed, c.get<Engine>(engine) != Engine::unknown, engine,
           [&] { return "engine is unknown; vector is taken"; });
}

unsigned state(const InstView& v) { return v.get<Engine>(engine) == Engine::gpsimd ? kGpsimdRandom : kVectorRandom; }

void run(Run& r) {
  const Tile& d = r.tile(dst);
  const auto generator = [&](std::int64_t row) -> Xorwow& {
    const std::int64_t lane = d.lane + row;
    return r.engine() == Engine::gpsimd ? r.state().gpsimd_random[lane] : r.state().vector_random[lane][0];
  };
  constexpr std::int64_t kRows = 8;  // at a time: a generator waits for itself, but not for the others
  std::vector<std::uint32_t> bits(kRows * d.free_size);
  for (std::int64_t first = 0; first < d.rows; first += kRows) {
    const std::int64_t rows = std::min(kRows, d.rows - first);
    Xorwow random[kRows];
    for (std::int64_t i = 0; i < rows; ++i) random[i] = generator(first + i);
    for (std::int64_t column = 0; column < d.free_size; ++column) {
      for (std::int64_t i = 0; i < kRows; ++i) bits[i * d.free_size + column] = random[i].next();
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      generator(first + i) = random[i];
      store_row_bits(r, d, first + i, 0, d.free_size, bits.data() + i * d.free_size);
    }
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(dst)))}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[p, f] = the low bits of the next 32 bits of partition p's generator, one draw per element in ascending "
        "order. The generator is Marsaglia's xorwow on both engines; the vector engine uses the first of its four "
        "states. The streams of the device are not documented.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "vector: max(64, N); gpsimd: 150 + N (not documented)",
    .state = state,
};

}  // namespace kiln::isa::instruction::rng
