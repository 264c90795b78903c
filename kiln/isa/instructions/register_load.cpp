#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::register_load {
namespace {
using namespace args::register_load;

constexpr Rule kOneElement{1, "src has one element", "slice src to the element"};

constexpr Rule kRules[] = {kOneElement};

void check(Check& c) { c.require(kOneElement, c.access(src).count() == 1, src); }

void run(Run& r) {
  const Tile& t = r.tile(src);
  std::uint32_t bits;
  load_row_bits(r, t, 0, 0, 1, &bits);
  r.registers[r.reg(dst)] = is_integer(t.dtype) ? static_cast<std::uint32_t>(to_int(t.dtype, bits)) : bits;
}

Cost cost(const CostQuery& q) {
  return {.cycles = static_cast<double>(q.arch().sbuf_access_cycles), .reads_hbm = q.in_hbm(src)};
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst = src: signed integers of 8 and 16 bits are extended with their sign, unsigned ones with zeros; a float32 "
        "is kept as its bits.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "60, one access to memory (not documented)",
    .facts = {.sets_register = dst},
};

}  // namespace kiln::isa::instruction::register_load
