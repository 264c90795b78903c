#include "kiln/tensor/passes/spread_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "kiln/tensor/passes/layout.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kSpreadLanes = 128, kHalf = 64, kQuadrant = 32;
constexpr std::int64_t kLongestSum = 8192;  // of a product

std::int64_t last(const Type& t) { return t.shape.empty() ? 1 : t.shape.back(); }

bool cuts_last(const Graph& graph, const Op& op) {
  const Shape& from = graph.type(op.operands[0]).shape;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (op.ints("steps")[d] != 1) return false;
    if (d + 1 < from.size() && op.type.shape[d] != from[d]) return false;
  }
  return !from.empty();
}

class Spreader {
 public:
  Spreader(const Graph& graph, const Fusion& fusion, int region, const Layout& layout, std::int64_t matrix_bytes)
      : graph_(graph), fusion_(fusion), region_(region), layout_(layout), matrix_bytes_(matrix_bytes) {}

  std::map<Value, SpreadRow> run() {
    find_families();
    for (auto& [root, family] : families_) family.lies = place(family);
    while (drop_those_that_do_not_fit()) {
    }
    std::map<Value, SpreadRow> out;
    for (const auto& [root, family] : families_) {
      for (Value v : family.members) {
        if (!family.lies) continue;
        const std::int64_t d = last(graph_.type(v)), P = family.lies->partitions;
        const bool turned = family.lies->turned;
        out[v] = {!turned ? P : d == 1 ? kSpreadLanes : d % P == 0 ? P : d, turned};
      }
    }
    if (out.empty()) return out;
    for (Value v : everywhere_) out[v] = {kSpreadLanes, false};
    return out;
  }

 private:
  // Values that lie in the same way.
  struct Family {
    std::vector<Value> members;
    std::optional<SpreadRow> lies;
  };

  bool is_here(Value v) const { return fusion_.region_of[v] == region_; }
  bool is_number(Value v) const { return graph_.type(v).size() == 1; }
  bool is_part(Value v) const { return is_part_of_product(graph_, fusion_, v); }
  // Whether operand i of v lies as v does.
  bool goes_along(Value v, std::size_t i) const {
    const Value x = graph_.op(v).operands[i];
    return is_here(x) && !is_number(x) && !is_product(graph_.op(v).code) && !is_part(v);
  }

  Value root(Value v) {
    while (parent_[v] != v) v = parent_[v];
    return v;
  }

  void find_families() {
    for (Value v : fusion_.regions[region_].ops) parent_[v] = v;
    for (Value v : fusion_.regions[region_].ops) {
      for (std::size_t i = 0; i < graph_.op(v).operands.size(); ++i) {
        if (!is_number(v) && goes_along(v, i)) parent_[root(graph_.op(v).operands[i])] = root(v);
      }
    }
    for (Value v : fusion_.regions[region_].ops) {
      if (!is_number(v)) families_[root(v)].members.push_back(v);
    }
  }

  // Whether v can be computed for some elements on each partition.
  bool is_fit(Value v) const {
    const Op& op = graph_.op(v);
    if (!is_float(op.type.dtype)) return false;
    if (is_part(v)) return is_fit_product(op.operands[0]);
    if (is_product(op.code)) return is_fit_product(v) && !is_read_in_parts(v);
    const auto is_float_operand = [&](Value x) { return is_float(graph_.type(x).dtype); };
    if (!std::all_of(op.operands.begin(), op.operands.end(), is_float_operand)) return false;
    if (op.code == OpCode::slice) return is_here(op.operands[0]) && cuts_last(graph_, op);
    if (op.code == OpCode::concat) {
      return op.integer("axis") + 1 == static_cast<std::int64_t>(op.type.rank()) &&
             std::all_of(op.operands.begin(), op.operands.end(), [&](Value x) { return is_here(x); });
    }
    if (op.code == OpCode::sum) return is_fit_sum(op);
    return op.code == OpCode::reshape ? is_here(op.operands[0]) : is_elementwise(op.code) || op.code == OpCode::cast;
  }

  bool is_read_in_parts(Value v) const {
    const auto& ops = fusion_.regions[region_].ops;
    return std::any_of(ops.begin(), ops.end(),
                       [&](Value u) { return graph_.op(u).code == OpCode::slice && graph_.op(u).operands[0] == v; });
  }

  bool is_fit_sum(const Op& op) const {
    const Ints& axes = op.ints("axes");
    const auto rank = static_cast<std::int64_t>(graph_.type(op.operands[0]).rank());
    return is_here(op.operands[0]) && std::find(axes.begin(), axes.end(), rank - 1) != axes.end() &&
           static_cast<std::int64_t>(op.type.rank()) == rank && (axes.size() == 1 || op.type.size() == 1);
  }

  bool is_fit_product(Value v) const {
    const Op& op = graph_.op(v);
    const auto leaf = layout_.load_of.find({v, 1});
    if (leaf == layout_.load_of.end() || op.type.size() != last(op.type)) return false;
    const Leaf& y = layout_.loads[leaf->second];
    const std::int64_t K = y.free[0].count, N = y.free[1].count;
    if (y.free[1].stride != 1 || K > kLongestSum || splat_of(graph_, op.operands[0])) return false;
    return (K + kSpreadLanes - 1) / kSpreadLanes * N * size_bytes(graph_.type(y.value).dtype) <= matrix_bytes_;
  }

  // A row that is only taken as a whole lies in runs; one of several heads has these side by side.
  std::optional<SpreadRow> place(const Family& family) const {
    std::int64_t most = 0, heads = 0;
    bool whole = true;
    for (Value v : family.members) {
      const Op& op = graph_.op(v);
      if (!is_fit(v)) return {};
      most = std::max(most, op.type.size());
      whole = whole && (is_part(v) || op.code != OpCode::slice) && op.code != OpCode::concat;
      if (op.type.size() > last(op.type)) heads = std::max(heads, last(op.type));
      if (op.code == OpCode::concat) heads = std::max(heads, last(op.type));
    }
    if (most < kHalf || !is_worth_it(family, most)) return {};
    std::int64_t partitions = std::min(kSpreadLanes, most);
    while (most % partitions != 0) --partitions;
    if (whole && partitions >= kHalf && fits_runs(family, partitions)) return SpreadRow{partitions, false};
    if (heads == 0 || heads > kSpreadLanes || heads % kHalf != 0 || !fits_heads(family, heads)) return {};
    return SpreadRow{heads, true};
  }

  // Every partition has the elements of all values that belong together, and sums over some of its own or over all.
  bool fits_runs(const Family& family, std::int64_t partitions) const {
    const SpreadRow s{partitions, false};
    const auto takes = [&](Value x) {
      Dims dims = Strided::contiguous(graph_.type(x).shape).dims;
      return take_partitions(dims, s).has_value();
    };
    for (Value v : family.members) {
      const Op& op = graph_.op(v);
      if (!takes(v)) return false;
      if (is_product(op.code) || is_part(v)) continue;
      for (Value x : op.operands) {
        if (is_number(x)) continue;
        const bool sums = op.code == OpCode::sum;
        if (!takes(x) || (!sums && graph_.type(x).size() != op.type.size())) return false;
      }
    }
    return true;
  }

  // What the tensor engine takes for products whose results are spread, and for those that are not; engines take a
  // nanosecond for every element of a row that lies on one partition.
  bool is_worth_it(const Family& family, std::int64_t most) const {
    constexpr double kElementNs = 1, kLoadNs = 115, kTileNs = 100, kTurnNs = 1300, kColumnNs = 0.6;
    double spread = 0, row = 0;
    for (Value v : family.members) {
      const Op& op = graph_.op(v);
      if (!is_product(op.code) && !is_part(v)) {
        row += is_view(op.code) ? 0 : kElementNs * static_cast<double>(op.type.size());
        continue;
      }
      const auto K = static_cast<double>(last(graph_.type(graph_.op(is_part(v) ? op.operands[0] : v).operands[0])));
      const double blocks = std::ceil(K / kSpreadLanes), n = static_cast<double>(last(op.type));
      row += blocks * std::max(kTileNs, n * kColumnNs);
      const double columns = std::ceil(n / kSpreadLanes);
      spread += std::min(columns * blocks * kLoadNs, blocks * std::max(4.0, columns / 4) * kTileNs + kTurnNs);
    }
    return spread <= row + static_cast<double>(most) * kElementNs;
  }

  // Whether elements stay on their partitions when lines of n become lines of d. One for each head is on all of them.
  static bool keeps_partitions(std::int64_t n, std::int64_t d, std::int64_t heads) {
    return n == d || (n % heads == 0 && d % heads == 0);
  }

  bool fits_heads(const Family& family, std::int64_t heads) const {
    for (Value v : family.members) {
      const Op& op = graph_.op(v);
      const std::int64_t d = last(op.type);
      const bool cut = !is_part(v) && op.code == OpCode::slice && op.ints("starts").back() % kQuadrant != 0;
      if (cut || (d != 1 && d % heads != 0 && (d > heads || d % kQuadrant != 0))) return false;
      if (op.code == OpCode::slice && !is_part(v) && last(graph_.type(op.operands[0])) != heads) return false;
      if (op.code == OpCode::concat && d != heads) return false;
      if (op.code == OpCode::reshape && !keeps_partitions(last(graph_.type(op.operands[0])), d, heads)) return false;
      for (Value x : op.operands) {  // what comes from elsewhere
        const std::int64_t n = last(graph_.type(x));
        if (!is_here(x) && !is_product(op.code) && !is_part(v) && n != 1 && n != heads && n != d) return false;
      }
    }
    return true;
  }

  // Numbers that are there on all partitions: sums of what is spread, and what is made of these.
  void find_everywhere() {
    everywhere_.clear();
    for (Value v : fusion_.regions[region_].ops) {
      const Op& op = graph_.op(v);
      if (!is_number(v) || !is_float(op.type.dtype)) continue;
      bool fits = is_elementwise(op.code) || op.code == OpCode::cast || op.code == OpCode::reshape;
      for (Value x : op.operands) {
        if (!is_float(graph_.type(x).dtype)) fits = false;
        if (is_number(x)) fits = fits && (!is_here(x) || everywhere_.contains(x));
      }
      if (op.code == OpCode::sum) {
        const Value x = op.operands[0];
        fits = is_here(x) && is_fit_sum(op) && (is_number(x) ? everywhere_.contains(x) : is_spread(x));
      }
      if (fits) everywhere_.insert(v);
    }
  }

  bool is_spread(Value v) {
    if (is_number(v) || !is_here(v)) return false;
    return families_.at(root(v)).lies.has_value();
  }

  bool drop_those_that_do_not_fit() {
    find_everywhere();
    std::map<int, SpreadRow> loads;
    for (auto& [first, family] : families_) {
      if (!family.lies) continue;
      bool fits = true;
      for (Value v : family.members) {
        for (std::size_t i = 0; i < graph_.op(v).operands.size(); ++i) fits = fits && fits_operand(v, i, family, loads);
        for (Value user : fusion_.regions[region_].ops) {
          const Op& op = graph_.op(user);
          const bool multiplied = is_product(op.code) && op.operands[0] == v;
          // What the tensor engine sums over lies on all partitions, and its matrix beside it.
          if (multiplied && family.lies->turned && family.lies->partitions != kSpreadLanes) fits = false;
          if (multiplied && !is_fit_product(user)) fits = false;
        }
      }
      if (!fits) {
        family.lies.reset();
        return true;
      }
    }
    return false;
  }

  bool fits_operand(Value v, std::size_t i, const Family& family, std::map<int, SpreadRow>& loads) {
    const Op& op = graph_.op(v);
    const Value x = op.operands[i];
    if (is_product(op.code) || is_part(v)) return true;
    if (is_here(x)) return !is_number(x) || everywhere_.contains(x);
    const auto load = layout_.load_of.find({v, static_cast<int>(i)});
    if (load == layout_.load_of.end() || is_number(x)) return true;
    if (layout_.footprint(load->second)) return false;
    for (const auto& [reader, index] : layout_.load_of) {  // nobody reads it as a row
      if (index != load->second) continue;
      const bool columns = is_product(graph_.op(reader.first).code) && reader.second == 0;
      if (columns ? family.lies->turned || !is_fit_product(reader.first) : !is_spread(reader.first)) return false;
    }
    return loads.emplace(load->second, *family.lies).first->second == *family.lies;
  }

  const Graph& graph_;
  const Fusion& fusion_;
  int region_;
  const Layout& layout_;
  std::int64_t matrix_bytes_;
  std::map<Value, Value> parent_;
  std::map<Value, Family> families_;  // by root
  std::set<Value> everywhere_;
};

}  // namespace

std::optional<std::int64_t> take_partitions(Dims& dims, const SpreadRow& s) {
  if (dims.empty()) return 0;
  if (s.turned) {
    isa::Dim& d = dims.back();
    if (d.count == 1) return 0;
    if (d.count % s.partitions != 0) return {};
    const std::int64_t stride = d.stride;
    d = {d.stride * s.partitions, d.count / s.partitions};
    return stride;
  }
  for (isa::Dim& d : dims) {
    if (d.count == 1) continue;
    if (d.count % s.partitions != 0) return {};
    const std::int64_t columns = d.count / s.partitions, stride = d.stride * columns;
    d.count = columns;
    return stride;
  }
  return 0;
}

bool is_part_of_product(const Graph& graph, const Fusion& fusion, Value v) {
  const Op& op = graph.op(v);
  if (op.code != OpCode::slice || !is_product(graph.op(op.operands[0]).code)) return false;
  const Value p = op.operands[0];
  if (fusion.region_of[p] != fusion.region_of[v] || fusion.region_of[p] < 0 || fusion.is_stored[p]) return false;
  for (Value u = p + 1; u < graph.size(); ++u) {
    const auto& operands = graph.op(u).operands;
    if (std::find(operands.begin(), operands.end(), p) == operands.end()) continue;
    if (graph.op(u).code != OpCode::slice || !cuts_last(graph, graph.op(u))) return false;
  }
  return cuts_last(graph, op);
}

std::map<Value, SpreadRow> spread_rows(const Graph& graph, const Fusion& fusion, int region, const Layout& layout,
                                       std::int64_t matrix_bytes) {
  if (layout.partitions != 1 || layout.packed != 1 || !layout.loops.empty()) return {};
  return Spreader(graph, fusion, region, layout, matrix_bytes).run();
}

}  // namespace kiln::tensor
