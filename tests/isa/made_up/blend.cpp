#include <fmt/format.h>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::blend {
namespace {
using namespace args::blend;

constexpr Rule kSameShape{1, "left, right and mixed have one shape", "slice them to one shape"};

constexpr Rule kRules[] = {kSameShape};

void check(Check& c) {
  c.require(kSameShape, c.same_shape(left, right) && c.same_shape(left, mixed), mixed, [&] {
    return fmt::format("left is {}, mixed is {}", shape_text(c.access(left)), shape_text(c.access(mixed)));
  });
}

void run(Run& r) {
  map_rows(r, r.tile(mixed), {&r.tile(left), &r.tile(right)}, Walk::anyhow, [&](const RowChunk& c) {
    r.k.alu_vv(AluOp::add, c.in[0], c.in[1], c.out, c.n);
    r.k.alu_vs(AluOp::multiply, c.out, 0.5f, c.out, c.n);
  });
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(3.0 * static_cast<double>(q.free_size(mixed)))}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "mixed = (left + right) / 2.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_elementwise,
    .cost_text = "max(64, 3N)",
};

}  // namespace kiln::isa::instruction::blend
