#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"
#include "kiln/isa/text/print.h"
#include "kiln/isa/uses.h"

namespace kiln::isa::instruction::rank_id {
namespace {
using namespace args::rank_id;

constexpr Rule kStored{1, "a register with a rank is not stored: the vendor's compiler could not do it",
                       "index with the register: .ap(scalar_offset=rank), .select(dim, rank)", Mark::external};
constexpr Rule kRules[] = {kStored};

bool stores(const InstView& inst, RegisterId rank) {
  if (!inst.row().is_register() || inst.facts().sets_register >= 0) return false;
  bool found = false;
  for_each_register(inst.program(), inst.inst(), [&](RegisterId id) { found = found || id == rank; });
  return found;
}

void check(Check& c) {
  for (const Instruction& inst : c.program().instructions)
    c.advise(kStored, !stores(InstView(c.program(), inst), c.reg(dst)), dst, [&] { return print(c.program(), inst); });
}

void run(Run& r) { r.registers[r.reg(dst)] = static_cast<std::uint32_t>(r.rank_number); }

Cost cost(const CostQuery&) { return {.cycles = 1}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "dst = the number of the rank that runs, from 0 on; both cores of a logical core have the same.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "1 (not documented)",
    .facts = {.sets_register = dst, .declares_register = true},
};

}  // namespace kiln::isa::instruction::rank_id
