#include "kiln/timing/plan_tensor.h"

#include "kiln/analysis/product.h"

namespace kiln::timing {
using namespace isa;

namespace {

constexpr int kSide = 4;  // smallest tiles of the array, in a row and in a column
static_assert(kSide * kSide == kQuadrantCount);

// Row and column tiles let small products run side by side.
std::uint16_t quadrants(const InstView& v, const Arch& arch) {
  const auto tile = v.facts().array_tile ? v.facts().array_tile(v) : std::nullopt;
  if (!tile) return 0xffff;
  const std::int64_t rows = arch.matmul_rows / kSide, columns = arch.matmul_columns / kSide;
  std::uint16_t mask = 0;
  for (std::int64_t r = tile->row / rows; r * rows < tile->row + tile->rows && r < kSide; ++r) {
    for (std::int64_t c = tile->column / columns; c * columns < tile->column + tile->columns && c < kSide; ++c)
      mask |= static_cast<std::uint16_t>(1u << (r * kSide + c));
  }
  return mask;
}

}  // namespace

void plan_tensor(Op& op, const CostQuery& q) {
  const Cost cost = q.row().semantics->cost(q);
  const double clock = q.spec().clock_ghz;
  const Arch& arch = q.arch();
  op.parts = cost.parts;
  op.pass = from_ns(cost.cycles / cost.parts / clock);
  const double share = cost.background ? 0.5 : 1.0;
  op.interval = from_ns(cost.cycles / clock * share + cost.parts * arch.tensor.interval_ns);
  op.latency = from_ns(arch.tensor.latency_ns);
  op.load = from_ns(arch.timing.matmul.load_ns + cost.load_cycles / clock);
  op.load_pass = from_ns(cost.load_cycles / clock);
  op.quadrants = quadrants(q, arch);
  op.macs = analysis::product_of(q, arch).macs;
  op.flops = 2 * op.macs;
}

}  // namespace kiln::timing
