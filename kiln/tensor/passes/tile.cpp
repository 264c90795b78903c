#include "kiln/tensor/passes/tile.h"

#include <algorithm>
#include <cmath>

#include "kiln/tensor/lower/lines.h"

namespace kiln::tensor {
namespace {

constexpr double kInstructionNs = 100;  // an instruction beyond its elements
constexpr double kDmaNs = 150;          // a DMA beyond its bytes, when many are under way
constexpr double kEngineBytesPerNs = 23;
constexpr std::int64_t kShortRun = 512;  // bytes: a shorter run takes as long

bool is_reduction(OpCode code) { return (code >= OpCode::sum && code <= OpCode::min) || is_search(code); }

struct Estimator {
  const Graph& graph;
  const Fusion& fusion;
  int region;
  const Arch& arch;

  // Bytes that a leaf costs per row of a partition: short runs count as longer ones.
  double row_bytes(const Leaf& leaf, const Layout& plan) const {
    const std::int64_t size = size_bytes(graph.type(leaf.value).dtype);
    std::vector<Dims> dims{leaf.free};
    dims[0].insert(dims[0].begin(), {leaf.packed, leaf.packed ? plan.packed : 1});
    for (isa::Dim& d : dims[0]) {
      if (d.stride == 0) d.count = 1;
    }
    join_together(dims);
    std::int64_t run = 1, runs = 1;
    for (const isa::Dim& d : dims[0]) runs *= d.count;
    if (!dims[0].empty() && dims[0].back().stride == 1) run = dims[0].back().count;
    runs /= run;
    return static_cast<double>(runs * std::max(run * size, kShortRun));
  }

  double estimate(const Layout& plan) const {
    double iterations = std::ceil(static_cast<double>(plan.partitions) / 128);
    for (std::int64_t n : plan.loops) iterations *= static_cast<double>(n);
    const auto lanes = static_cast<double>(std::min<std::int64_t>(plan.partitions, 128));
    double widest = 1, computed = 0, reductions = 0;
    std::int64_t rows = plan.partitions * plan.packed;
    for (std::int64_t n : plan.loops) rows *= n;
    for (Value v : fusion.regions[region].ops) {
      if (is_view(graph.op(v).code)) continue;
      std::int64_t size = graph.type(v).size();
      if (is_reduction(graph.op(v).code)) size = graph.type(graph.op(v).operands[0]).size();
      const auto per_row = static_cast<double>(size) / static_cast<double>(rows);
      widest = std::max(widest, per_row);
      computed += kInstructionNs + per_row * static_cast<double>(plan.packed);
      reductions += is_reduction(graph.op(v).code);
    }
    if (plan.packed > 1 && reductions > 0) computed *= 1.5;  // what is one value per row is no operand of a scalar then
    double moved = 0;
    double loads = 0;  // that lie on the chip at a time, as many as would be of the widest
    const double rate = lanes / (kEngineBytesPerNs * std::max(1.0, lanes / 8));
    for (const Footprint& f : plan.footprints) {
      const std::int64_t size = size_bytes(graph.type(plan.loads[f.loads[0]].value).dtype);
      moved += kDmaNs + static_cast<double>(std::max(f.span * size, kShortRun)) * rate;
      loads += std::min(static_cast<double>(f.loads.size()),
                        static_cast<double>(f.span) / (widest * static_cast<double>(plan.packed)));
    }
    for (const auto* leaves : {&plan.loads, &plan.stores}) {
      for (const Leaf& leaf : *leaves) {
        double elements = 1;
        for (const isa::Dim& d : leaf.free) elements *= static_cast<double>(d.stride == 0 ? 1 : d.count);
        if (!leaf.is_matrix) widest = std::max(widest, elements);
        const auto index = static_cast<int>(&leaf - leaves->data());
        const bool comes_along = leaves == &plan.loads && plan.footprint(index);
        if (leaves == &plan.loads && !comes_along && (leaf.is_matrix || elements > 1 || widest == 1)) ++loads;
        if (leaf.is_matrix || (leaves == &plan.loads && plan.level(leaf) < plan.body_level() && plan.level(leaf) <= 0))
          continue;
        if (comes_along) continue;
        moved += kDmaNs + row_bytes(leaf, plan) * rate;
      }
    }
    const double live = widest * static_cast<double>(plan.packed) * 4 * (4 + loads);
    const double budget = static_cast<double>(arch.sbuf_partition_bytes) * 0.8;
    const double over = live > budget ? 1000 * live / budget : 1;
    return over * (4000 + iterations * std::max(computed, moved) + std::min(computed, moved));
  }
};

// Whether a product meets one matrix, that is small, with many short rows.
bool is_narrow(const Graph& graph, const Op& op) {
  constexpr std::int64_t kNarrow = 512, kManyRows = 1024;
  const Shape& y = graph.type(op.operands[1]).shape;
  return y.size() == 2 && y[0] <= kNarrow && y[1] <= kNarrow && op.type.size() / y[1] >= kManyRows;
}

bool can_pack(const Graph& graph, const Fusion& fusion, int region) {
  int products = 0, reductions = 0;
  for (Value v : fusion.regions[region].ops) {
    const Op& op = graph.op(v);
    if (op.code == OpCode::gather_rows || is_line_op(op.code)) return false;
    if (is_product(op.code) && !is_narrow(graph, op)) return false;
    products += is_product(op.code);
    reductions += is_reduction(op.code);
  }
  return products < 2 || reductions == 0;  // several, with a softmax between them, have loops of their own
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d) continue;
    out.push_back(d);
    if (d * d != n) out.push_back(n / d);
  }
  return out;
}

std::vector<Tiling> tilings(const Graph& graph, const Fusion& fusion, int region, const Arch& arch, std::size_t most) {
  const Estimator estimator{graph, fusion, region, arch};
  std::vector<Tiling> out;
  for (std::int64_t rows : fusion.regions[region].candidates) {
    if (rows == 0) continue;
    const Layout plain = layout(graph, fusion, region, {.rows = rows});
    if (!plain.is_possible) continue;
    const bool packs = can_pack(graph, fusion, region);
    for (std::int64_t packed : packs ? divisors(plain.partitions) : std::vector<std::int64_t>{1}) {
      const LayoutOptions options{.rows = rows, .packed = packed};
      out.push_back({options, estimator.estimate(layout(graph, fusion, region, options))});
    }
  }
  std::sort(out.begin(), out.end(), [](const Tiling& a, const Tiling& b) { return a.estimate_ns < b.estimate_ns; });
  if (out.size() <= most) return out;
  // Rows one by one stay in the race: what is one value per row is then an operand of an instruction.
  const auto plain = std::find_if(out.begin(), out.end(), [](const Tiling& t) { return t.options.packed == 1; });
  if (plain != out.end() && plain - out.begin() >= static_cast<std::ptrdiff_t>(most)) out[most - 1] = *plain;
  out.resize(most);
  return out;
}

}  // namespace kiln::tensor
