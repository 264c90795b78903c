#include "kiln/tensor/passes/tile.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/tensor/lower/lines.h"
#include "kiln/tensor/lower/turn.h"
#include "kiln/tensor/passes/row_candidates.h"
#include "kiln/tensor/passes/row_parts.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kLanesOfBlock = 128;
constexpr double kInstructionNs = 100;  // an instruction beyond its elements
constexpr double kDmaNs = 150;          // a DMA beyond its bytes, when many are under way
constexpr double kEngineBytesPerNs = 23;
constexpr double kBefore = 4000;         // until the first operand is there, and the last result
constexpr std::int64_t kShortRun = 512;  // bytes: a shorter run takes as long

bool is_reduction(OpCode code) { return (code >= OpCode::sum && code <= OpCode::min) || is_search(code); }

struct Estimator {
  const Graph& graph;
  const Fusion& fusion;
  int region;
  const Arch& arch;
  double sbuf_share;

  // Whether rows lie beside each other in HBM, so that long runs of many of them are moved, and turned on the chip.
  bool comes_turned(const Leaf& leaf, const Layout& plan, const Dims& row) const {
    constexpr std::int64_t kFewest = 8;
    const std::vector<Value>& ops = fusion.regions[region].ops;
    return leaf.partition == 1 && plan.packed == 1 && plan.grouped == 1 && plan.partitions >= kLanesOfBlock &&
           Turner::turns(graph.type(leaf.value).dtype) && row.size() == 1 && row[0].stride > 1 &&
           row[0].count >= kFewest &&
           std::none_of(ops.begin(), ops.end(), [&](Value v) { return is_product(graph.op(v).code); });
  }

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
    if (comes_turned(leaf, plan, dims[0])) {
      const auto beside = static_cast<double>(plan.partitions * size);  // a run is of as many rows as there are
      return static_cast<double>(runs * size) * std::max(1.0, kShortRun / beside);
    }
    if (!dims[0].empty() && dims[0].back().stride == 1) run = dims[0].back().count;
    runs /= run;
    return static_cast<double>(runs * std::max(run * size, kShortRun));
  }

  // Bytes per row of what lies on the chip at a time at most, besides loads: each value from its op to its last reader.
  double live_bytes(std::int64_t rows) const {
    const std::vector<Value>& ops = fusion.regions[region].ops;
    std::map<Value, Value> last;  // reader
    for (Value v : ops) {
      for (Value x : graph.op(v).operands) last[x] = v;
    }
    std::map<Value, double> ends;  // by reader
    double now = 0, most = 0;
    for (Value v : ops) {
      const OpCode code = graph.op(v).code;
      if (!is_view(code) && code != OpCode::bitcast) {
        const double bytes =
            static_cast<double>(graph.type(v).size() * size_bytes(graph.type(v).dtype)) / static_cast<double>(rows);
        now += bytes;
        Value end = v;  // the last reader of it, or of what is another view of it
        for (auto it = last.find(v); it != last.end(); it = last.find(end)) {
          end = it->second;
          if (!is_view(graph.op(end).code) && graph.op(end).code != OpCode::bitcast) break;
        }
        ends[end] += bytes;
      }
      most = std::max(most, now);
      if (const auto it = ends.find(v); it != ends.end()) now -= it->second;
    }
    return most;
  }

  // Whether rows that are too wide can go in pieces: what is computed has a place for each column, or one for the row.
  bool can_go_in_pieces(const Layout& plan, double widest) const {
    if (plan.packed != 1 || plan.parts != 1) return false;
    const std::vector<Value>& ops = fusion.regions[region].ops;
    return std::all_of(ops.begin(), ops.end(), [&](Value v) {
      const OpCode code = graph.op(v).code;
      const auto columns = static_cast<double>(graph.type(v).shape.empty() ? 1 : graph.type(v).shape.back());
      const double per_row = static_cast<double>(graph.type(v).size()) / static_cast<double>(plan.all_rows());
      const bool fits = per_row <= 1 || (per_row == widest && columns == widest);
      const bool is_simple = is_elementwise(code) || code == OpCode::where || code == OpCode::cast || is_running(code);
      return fits && (is_simple || (is_reduction(code) && per_row <= 1));
    });
  }

  double estimate(const Layout& plan) const {
    const std::int64_t at_once = plan.units_of(kLanesOfBlock), blocks = (plan.units() + at_once - 1) / at_once;
    auto iterations = static_cast<double>(blocks);
    for (std::int64_t n : plan.loops) iterations *= static_cast<double>(n);
    const auto lanes = static_cast<double>(std::min<std::int64_t>(plan.partitions, at_once * plan.grouped));
    double widest = 1, computed = 0, reductions = 0;
    const std::int64_t rows = plan.all_rows() * plan.parts;  // where values lie
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
    constexpr std::size_t kManyOps = 24;  // fewer have few values at a time
    double live = widest * static_cast<double>(plan.packed) * 4 * (4 + loads);
    constexpr double kBlocks = 2;  // at a time: engines that wait in one of them work on another
    if (fusion.regions[region].ops.size() > kManyOps)
      live = std::max(live, kBlocks * static_cast<double>(plan.packed) * (live_bytes(rows) + widest * 4 * loads));
    const double budget = static_cast<double>(arch.sbuf_partition_bytes) * sbuf_share;
    constexpr double kPieces = 1.1, kNoRoom = 1000;
    const double pieces = can_go_in_pieces(plan, widest) ? kPieces : kNoRoom * live / budget;
    const double over = live > budget ? pieces : 1;
    const double rest = plan.rest.empty() ? 0 : estimate(plan.rest[0]) - kBefore;
    return rest + over * (kBefore + iterations * std::max(computed, moved) + std::min(computed, moved));
  }
};

// Whether a product meets one matrix, that is small, with many short rows; or each of several, that are smaller.
bool is_narrow(const Graph& graph, const Op& op) {
  constexpr std::int64_t kNarrow = 512, kManyRows = 1024, kNarrower = 128, kRowsOfEach = 512;
  const Shape& y = graph.type(op.operands[1]).shape;
  if (y.size() == 3)
    return y[1] <= kNarrower && y[2] <= kNarrower && op.type.rank() == 3 && op.type.shape[1] >= kRowsOfEach;
  return y.size() == 2 && y[0] <= kNarrow && y[1] <= kNarrow && op.type.size() / y[1] >= kManyRows;
}

// Whether a region is such a product and what is done to each of its elements.
bool is_narrow_product(const Graph& graph, const Region& region) {
  if (!region.sums.empty()) return false;
  int products = 0;
  return std::ranges::all_of(region.ops, [&](Value v) {
    const Op& op = graph.op(v);
    if (is_product(op.code)) return is_narrow(graph, op) && ++products == 1;
    return is_elementwise(op.code) || op.code == OpCode::where || op.code == OpCode::cast;
  });
}

bool can_pack(const Graph& graph, const Fusion& fusion, int region) {
  int products = 0, reductions = 0;
  for (Value v : fusion.regions[region].ops) {
    const Op& op = graph.op(v);
    if (op.code == OpCode::gather_rows || is_line_op(op.code)) return false;
    if (is_search(op.code) && !searches_last(graph, op)) return false;
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

namespace {

// Short rows whose number has no fitting divisor: whole blocks of partitions with as many rows each as there are, and
// the rest of them one by one.
std::vector<Tiling> uneven(const Graph& graph, const Fusion& fusion, int region, const Estimator& estimator) {
  constexpr std::int64_t kMostBlocks = 16, kFewRows = 4;
  std::vector<Tiling> out;
  const bool any_rows = is_plain(graph, fusion.regions[region]) || is_narrow_product(graph, fusion.regions[region]);
  if (!any_rows || !can_pack(graph, fusion, region)) return out;
  for (std::int64_t rows : fusion.regions[region].candidates) {
    const Layout plain = rows == 0 ? Layout{} : layout(graph, fusion, region, {.rows = rows});
    if (rows == 0 || !plain.is_possible) continue;
    for (std::int64_t units = kLanesOfBlock; units <= kMostBlocks * kLanesOfBlock; units *= 2) {
      const std::int64_t packed = plain.partitions / units;
      if (packed < kFewRows || plain.partitions % packed == 0) continue;
      const LayoutOptions options{.rows = rows, .packed = packed, .units = units};
      out.push_back({options, estimator.estimate(layout(graph, fusion, region, options))});
    }
  }
  return out;
}

// Rows that lie on several partitions each.
std::vector<Tiling> in_parts(const Graph& graph, const Fusion& fusion, int region, const Estimator& estimator) {
  std::vector<Tiling> out;
  for (std::int64_t rows : fusion.regions[region].candidates) {
    for (std::int64_t parts : parts_of_rows(graph, fusion, region, rows)) {
      const LayoutOptions options{.rows = rows, .parts = parts};
      const Layout plan = layout(graph, fusion, region, options);
      if (plan.is_possible) out.push_back({options, estimator.estimate(plan)});
    }
  }
  return out;
}

}  // namespace

std::vector<Tiling> tilings(const Graph& graph, const Fusion& fusion, int region, const Arch& arch, std::size_t most,
                            double sbuf_share) {
  const Estimator estimator{graph, fusion, region, arch, sbuf_share};
  std::vector<Tiling> out, grouped;
  for (std::int64_t rows : fusion.regions[region].candidates) {
    if (rows == 0) continue;
    const Layout plain = layout(graph, fusion, region, {.rows = rows});
    if (!plain.is_possible) continue;
    const bool packs = can_pack(graph, fusion, region);
    for (std::int64_t packed : packs ? divisors(plain.partitions) : std::vector<std::int64_t>{1}) {
      LayoutOptions options{.rows = rows, .packed = packed};
      out.push_back({options, estimator.estimate(layout(graph, fusion, region, options))});
      if (plain.loops.empty() || 2 * plain.partitions / packed > kLanesOfBlock) continue;
      options.groups = true;
      const Layout groups = layout(graph, fusion, region, options);
      if (groups.loops.size() < plain.loops.size()) grouped.push_back({options, estimator.estimate(groups)});
    }
  }
  const auto is_sooner = [](const Tiling& a, const Tiling& b) { return a.estimate_ns < b.estimate_ns; };
  std::sort(out.begin(), out.end(), is_sooner);
  if (out.size() > most) {
    // Rows one by one stay in the race: what is one value per row is then an operand of an instruction.
    const auto plain = std::find_if(out.begin(), out.end(), [](const Tiling& t) { return t.options.packed == 1; });
    if (plain != out.end() && plain - out.begin() >= static_cast<std::ptrdiff_t>(most)) out[most - 1] = *plain;
    out.resize(most);
  }
  // The best in other ways comes first where it is clearly better, else it is one more to compare.
  constexpr double kClearly = 0.8;
  for (const std::vector<Tiling>& others : {grouped, uneven(graph, fusion, region, estimator)}) {
    const auto best = std::min_element(others.begin(), others.end(), is_sooner);
    if (best == others.end() || best->estimate_ns >= out[0].estimate_ns) continue;
    out.insert(best->estimate_ns < kClearly * out[0].estimate_ns ? out.begin() : out.end(), *best);
  }
  // Few partitions for a row are few blocks, many are many instructions: all are compared.
  std::vector<Tiling> parts = in_parts(graph, fusion, region, estimator);
  std::sort(parts.begin(), parts.end(), is_sooner);
  const bool first = !parts.empty() && (out.empty() || parts[0].estimate_ns < kClearly * out[0].estimate_ns);
  out.insert(first ? out.begin() : out.end(), parts.begin(), parts.end());
  return out;
}

}  // namespace kiln::tensor
