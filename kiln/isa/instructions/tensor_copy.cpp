#include <fmt/format.h>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::tensor_copy {
namespace {
using namespace args::tensor_copy;

constexpr Rule kSameShape{1, words::kSrcAndDstShape};
constexpr Rule kPackedCopied{2, words::kPackedCopied};
constexpr Rule kScalarGeneration{3, "the scalar engine copies from gen3 on",
                                 "leave engine out, or use activation(op=nl.copy) on trn1"};
constexpr Rule kScatterIntoSbuf{4, words::kScalarEngineScatter};
constexpr Rule kGpsimdDirect{5, "gpsimd takes no indirect operands here", "leave engine out"};

constexpr Rule kRules[] = {kSameShape, kPackedCopied, kScalarGeneration, kScatterIntoSbuf, kGpsimdDirect};

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, src),
            [&] { return fmt::format("dst is {}, src is {}", shape_text(c.access(dst)), shape_text(c.access(src))); });
  c.require(kPackedCopied, c.dtype(dst) == c.dtype(src) || !(is_packed(c.dtype(dst)) || is_packed(c.dtype(src))),
            [&] { return fmt::format("{} to {}", name(c.dtype(src)), name(c.dtype(dst))); });
  if (c.engine() == Engine::scalar) {
    c.require(kScalarGeneration, c.arch().features.scalar_tensor_ops, engine, [&] { return "engine is scalar"; });
    c.require(kScatterIntoSbuf, !(c.is_indirect(dst) && c.in_psum(dst)), dst,
              [&] { return "dst is indirect and in PSUM"; });
  }
  c.require(kGpsimdDirect, c.engine() != Engine::gpsimd || !(c.is_indirect(dst) || c.is_indirect(src)),
            [&] { return fmt::format("{} is indirect", c.is_indirect(dst) ? "dst" : "src"); });
}

void run(Run& r) { copy_elements(r, r.tile(dst), r.tile(src)); }

Cost cost(const CostQuery& q) {
  return {.cycles = q.stream(static_cast<double>(q.free_size(dst)), q.copy_rate(dst, src))};
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "dst[p, f] = cvt(src[p, f]): equal dtypes move bits unchanged, others go through float32.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_flat,
    .cost_text =
        "max(64, N / rate), rate up to 4 for 16-bit floats and 2 for float32 in SBUF from gen3 on; at least 600 with a "
        "dynamic address",
    .facts = {.copies = src, .in_place = param_bit(src)},
};

}  // namespace kiln::isa::instruction::tensor_copy
