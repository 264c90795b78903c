#include <fmt/format.h>

#include "kiln/isa/instructions/shared/register_value.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::register_alloc {
namespace {
using namespace args::register_alloc;

constexpr Rule kValueRange{1, "x is an integer of 32 bits, signed or unsigned", "pass a value from -2^31 to 2^32 - 1"};

constexpr Rule kRules[] = {kValueRange};

void check(Check& c) {
  c.require(kValueRange, !c.has(x) || fits_register(c.integer(x)), x,
            [&] { return fmt::format("x is {}", c.integer(x)); });
}

// Without x the register stays undefined; reading it is an error of the run.
void run(Run& r) {
  if (r.has(x)) r.registers[r.reg(dst)] = static_cast<std::uint32_t>(r.integer(x));
}

Cost cost(const CostQuery&) { return {.cycles = 1}; }

bool gives_value(const InstView& v) { return v.has(x); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "dst = x modulo 2^32; without x, dst holds nothing until it is written.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "1 (not documented)",
    .facts = {.sets_register = dst, .declares_register = true, .gives_value = gives_value},
};

}  // namespace kiln::isa::instruction::register_alloc
