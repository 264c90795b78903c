#include <fmt/format.h>

#include "kiln/isa/instructions/shared/register_value.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::register_move {
namespace {
using namespace args::register_move;

constexpr Rule kValueRange{1, "an integer src has 32 bits, signed or unsigned", "pass a value from -2^31 to 2^32 - 1"};

constexpr Rule kRules[] = {kValueRange};

void check(Check& c) {
  c.require(kValueRange, c.is_register(src) || fits_register(c.integer(src)), src,
            [&] { return fmt::format("src is {}", c.integer(src)); });
}

void run(Run& r) {
  r.registers[r.reg(dst)] = r.is_register(src) ? r.registers[r.reg(src)] : static_cast<std::uint32_t>(r.integer(src));
}

Cost cost(const CostQuery&) { return {.cycles = 1}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "dst = src, all 32 bits; an integer src is taken modulo 2^32.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "1 (not documented)",
    .facts = {.sets_register = dst},
};

}  // namespace kiln::isa::instruction::register_move
