#include "kiln/isa/instructions/shared/product.h"
#include "kiln/isa/instructions/shared/psum_accumulate.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::isa::instruction::gram {
namespace {
using namespace args::gram;

constexpr Rule kContraction{1, "held and passed have the same number of partitions", "slice both to the same rows"};

constexpr Rule kRules[] = {kContraction};

void check(Check& c) { c.require(kContraction, c.partitions(held) == c.partitions(passed), held); }

void run(Run& r) {
  const Tile &a = r.tile(held), &b = r.tile(passed);
  const auto factor = [](const Tile& t) { return Factor{DType::float32, t.data, t.row_bytes / 4}; };
  multiply_into(r, r.tile(sums), factor(a), factor(b), a.rows);
}

void track(Track& t) {
  const Arg overwrite{.kind = Arg::Kind::boolean};
  track_product(t, sums, overwrite, kContraction, kContraction, column_shadow(t, held, t.free_size(held)),
                column_shadow(t, passed, t.free_size(passed)));
}

Cost cost(const CostQuery& q) {
  return matmul_cost(q, 1, static_cast<double>(q.free_size(held)), static_cast<double>(q.free_size(passed)), false);
}

Product product(const InstView& v, const Arch& arch) { return matrix_product(v, sums, held, passed, 1, arch); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "sums = held, transposed, times passed.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "N",
    .facts = {.stationary = held, .moving = passed, .product = product},
};

}  // namespace kiln::isa::instruction::gram
