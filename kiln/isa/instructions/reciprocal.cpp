#include <fmt/format.h>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/bfloat16_walk.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::reciprocal {
namespace {
using namespace args::reciprocal;

constexpr Rule kSameShape{1, words::kDataAndDstShape};

constexpr Rule kRules[] = {kSameShape};

constexpr double kCyclesPerElement = 8;

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
}

void run(Run& r) {
  if (map_bfloat16(r, r.tile(dst), {&r.tile(data)}, Walk::anyhow, [&](const Bfloat16Chunk& c) {
        return r.k.alu_bfloat16(AluOp::reciprocal, {c.in[0]}, {}, c.out, c.n);
      }))
    return;
  map_rows(r, r.tile(dst), {&r.tile(data)}, Walk::anyhow,
           [&](const RowChunk& c) { c.tell(r.k.alu_vs(AluOp::reciprocal, c.in[0], 0.0f, c.out, c.n)); });
}

Cost cost(const CostQuery& q) {
  return {.cycles = q.stream(kCyclesPerElement * static_cast<double>(q.free_size(dst)))};
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "dst[p, f] = cvt(1 / data[p, f]), correctly rounded in float32; 1 / ±0 is ±infinity.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_elementwise,
    .cost_text = "max(64, 8N)",
    .facts = {.in_place = param_bit(data),
              .walks = true,
              .function = [](const InstView&) { return std::optional(ActFn::reciprocal); },
              .of_function = data},
};

}  // namespace kiln::isa::instruction::reciprocal
