#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::register_store {
namespace {
using namespace args::register_store;

constexpr Rule kOneElement{1, "dst has one element", "slice dst to the element"};

constexpr Rule kRules[] = {kOneElement};

void check(Check& c) { c.require(kOneElement, c.access(dst).count() == 1, dst); }

void run(Run& r) { store_row_bits(r, r.tile(dst), 0, 0, 1, &r.registers[r.reg(src)]); }

Cost cost(const CostQuery& q) { return {.cycles = static_cast<double>(q.arch().sbuf_access_cycles)}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "dst = the low bits of src, as many as dst's dtype has.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "60, one access to memory (not documented)",
};

}  // namespace kiln::isa::instruction::register_store
