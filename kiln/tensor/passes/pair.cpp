#include "kiln/tensor/passes/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "kiln/tensor/passes/access.h"
#include "kiln/tensor/passes/collectives.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kMeetingNs = 2500;     // an exchange of tiles beyond its bytes
constexpr double kThroughHbmNs = 9000;  // there, a barrier, and back
constexpr double kAlone = 1e6;          // what makes exchanges dearer than computing everything
constexpr double kExchangeBytesPerNs = 90;
constexpr double kLoadBytesPerNs = 180;  // of one of two cores
constexpr double kLanes = 128;

double bytes_of(const Type& t) { return static_cast<double>(t.size() * size_bytes(t.dtype)); }
bool is_source(OpCode code) { return code == OpCode::input || code == OpCode::constant || code == OpCode::iota; }

double share_of_extent(std::int64_t n) { return static_cast<double>(half_extent(n)) / static_cast<double>(n); }

// Halves along an axis near the front lie on partitions: they become a whole in HBM.
bool has_few_rows(const Shape& shape, int axis) {
  constexpr std::int64_t kFew = 64;
  return product(shape, 0, static_cast<std::size_t>(axis)) < kFew;
}

// Costs of shares in nanoseconds. `meeting` scales what exchanges cost, to find ways with fewer and with more of them.
class Costs {
 public:
  Costs(const Graph& graph, const Arch& arch, double meeting) : graph_(graph), arch_(arch), meeting_(meeting) {}

  double own(Value v, const Share& share) const {
    const Op& op = graph_.op(v);
    const double part = share.is_half() ? share_of_extent(op.type.shape[share.axis]) : share.is_whole() ? 1 : 0.5;
    if (op.is_splat()) return 0;
    if (op.code == OpCode::iota) return 0;
    if (is_source(op.code)) return part * bytes_of(op.type) / kLoadBytesPerNs;
    if (is_view(op.code)) return 0;
    if (is_product(op.code)) return part * product_ns(op);
    double elements = static_cast<double>(op.type.size());
    for (Value x : op.operands) elements = std::max(elements, static_cast<double>(graph_.type(x).size()));
    return part * elements / kLanes / arch_.vector.clock_ghz;
  }

  // Of a share that is there, for one that is wanted.
  double change(Value v, const Share& have, const Share& want) const {
    if (have == want) return 0;
    if (want.is_summand()) return kNever;
    if (have.is_whole()) return 0;
    const double bytes = bytes_of(graph_.type(v));
    const bool all = have.is_summand() && want.is_whole();
    const bool hbm = have.is_half() && has_few_rows(graph_.type(v).shape, have.axis);
    return meeting_ * ((hbm ? kThroughHbmNs : kMeetingNs) + (all ? bytes : bytes / 2) / kExchangeBytesPerNs);
  }

 private:
  double product_ns(const Op& op) const {
    const double k = static_cast<double>(graph_.type(op.operands[0]).shape.back());
    const double passes = size_bytes(op.type.dtype) == 4 ? arch_.matmul_fp32_passes : 1;
    return passes * std::max(k, kLanes) / kLanes * static_cast<double>(op.type.size()) / kLanes /
           arch_.tensor.clock_ghz;
  }
  const Graph& graph_;
  const Arch& arch_;
  double meeting_;
};

// Shares by dynamic programming: forwards the least cost of each share of a value, as in a tree; backwards a choice for
// all that read it.
class Planner {
 public:
  Planner(const Graph& graph, const Costs& costs, bool with_odd) : graph_(graph), costs_(costs), uses_(graph.uses()) {
    for (Value v = 0; v < graph.size(); ++v) {
      for (const Share& s : shares_of(graph, v, with_odd)) table_.resize(v + 1), table_[v][s] = cost(v, s);
    }
  }

  // Outputs as halves along this axis, counted from the front, where they can be; nothing: as is cheapest.
  Pairing plan(std::optional<int> axis) {
    std::vector<std::vector<Share>> wanted(graph_.size());
    Pairing out;
    out.shares.resize(graph_.size());
    for (const Output& o : graph_.outputs()) {
      Share s = cheapest_output(o.value);
      if (axis && table_[o.value].contains(Share::half_of(*axis))) s = Share::half_of(*axis);
      out.outputs.push_back(s);
      wanted[o.value].push_back(s);
    }
    for (Value v = graph_.size(); v-- > 0;) {
      const Share s = out.shares[v] = choose(v, wanted[v]);
      const auto shares = needed(graph_, v, s);
      for (std::size_t i = 0; i < graph_.op(v).operands.size(); ++i)
        wanted[graph_.op(v).operands[i]].push_back((*shares)[i]);
      const std::set<Share> apart(wanted[v].begin(), wanted[v].end());
      const bool source = is_source(graph_.op(v).code);
      if (!source) out.estimate_ns += costs_.own(v, s);
      for (const Share& want : apart) out.estimate_ns += source ? costs_.own(v, want) : costs_.change(v, s, want);
      meetings_ += std::count_if(apart.begin(), apart.end(), [&](const Share& want) { return meets(v, s, want); });
    }
    out.what = described(out);
    return out;
  }

 private:
  double cost(Value v, const Share& s) const {
    const auto shares = needed(graph_, v, s);
    if (!shares) return kNever;
    double total = costs_.own(v, s);
    for (std::size_t i = 0; i < shares->size(); ++i) {
      const Value x = graph_.op(v).operands[i];
      if (is_source(graph_.op(x).code)) {  // in HBM, whatever is wanted of it
        total += costs_.own(x, (*shares)[i]) / std::max(1, uses_[x]);
        continue;
      }
      double least = kNever;
      for (const auto& [have, ns] : table_[x])
        least = std::min(least, ns / std::max(1, uses_[x]) + costs_.change(x, have, (*shares)[i]));
      total += least;
    }
    return total;
  }
  bool meets(Value v, const Share& have, const Share& want) const {
    return !is_source(graph_.op(v).code) && !have.is_whole() && have != want;
  }

  Share cheapest_output(Value v) const {
    Share best;
    double least = kNever;
    for (const auto& [s, ns] : table_[v]) {
      if (s.is_summand() || ns >= least) continue;
      least = ns, best = s;
    }
    return best;
  }
  Share choose(Value v, const std::vector<Share>& wanted) const {
    Share best;
    double least = kNever;
    const std::set<Share> apart(wanted.begin(), wanted.end());
    for (const auto& [s, ns] : table_[v]) {
      double total = ns;
      for (const Share& want : apart) total += costs_.change(v, s, want);
      if (total < least) least = total, best = s;
    }
    return best;
  }

  std::string described(const Pairing& p) {
    std::string out;
    for (const Share& s : p.outputs) {
      out += out.empty() ? "" : ", ";
      out += s.is_whole() ? "whole" : fmt::format("halves along axis {}", s.axis);
    }
    const auto n = std::exchange(meetings_, 0);
    return fmt::format("outputs: {}; {} exchange{}", out, n, n == 1 ? "" : "s");
  }

  const Graph& graph_;
  const Costs& costs_;
  std::vector<int> uses_;
  std::vector<std::map<Share, double>> table_;
  std::ptrdiff_t meetings_ = 0;
};

// Writes the program of one core.
class Halver {
 public:
  Halver(const Graph& graph, const Pairing& pairing, int core)
      : graph_(graph), pairing_(pairing), core_(core), to_(graph.name) {
    to_.pinned = true;
  }

  Graph run() {
    for (Value v = 0; v < graph_.size(); ++v) {
      if (graph_.loc(graph_.op(v)).known()) to_.at(graph_.loc(graph_.op(v)));
      now_.push_back(made(v));
    }
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Output& o = graph_.outputs()[i];
      to_.output(o.name, written(o.value, pairing_.outputs[i]));
    }
    return split_views(without_dead_ops(to_));
  }

 private:
  Value made(Value v) {
    const Op& op = graph_.op(v);
    const Share& share = pairing_.shares[v];
    std::vector<Value> operands;
    const auto shares = needed(graph_, v, share);
    if (is_source(op.code)) return to_.copy(graph_, op, {});
    for (std::size_t i = 0; i < op.operands.size(); ++i) operands.push_back(as(op.operands[i], (*shares)[i]));
    if (meets_in_kernel(op))
      return to_.kernel(kernel_of_core(*op.kernel, {core_, shares->front(), share}), std::move(operands));
    Op mine = op;
    for (Body& body : mine.bodies) body = std::make_shared<const Graph>(with_pair_kernels(*body, core_));
    if (share.is_half()) narrow(mine, share.axis);
    return to_.copy(graph_, mine, std::move(operands));
  }

  // Attributes that name extents of the result.
  void narrow(Op& op, int axis) const {
    const std::int64_t n = half_extent(op.type.shape[axis]);
    for (std::size_t i = 0; i < op.attrs.size(); ++i) {
      const std::string_view name = info(op.code).attributes[i].name;
      if (name == "shape" || name == "sizes") std::get<Ints>(op.attrs[i])[axis] = n;
    }
  }

  // A value with the share that is wanted.
  Value as(Value v, const Share& want) {
    const bool source = is_source(graph_.op(v).code);
    const Share have = source ? Share{} : pairing_.shares[v];
    if (have == want || graph_.op(v).is_splat()) return graph_.op(v).is_splat() ? splat(v, want) : now_[v];
    auto [it, fresh] = changed_.try_emplace({v, want}, 0);
    if (fresh) it->second = change(v, have, want);
    return it->second;
  }
  Value splat(Value v, const Share& want) {
    Type t = graph_.type(v);
    if (want.is_half()) t.shape[want.axis] = half_extent(t.shape[want.axis]);
    return to_.constant(t, {(*graph_.op(v).numbers)[0]});
  }

  Value change(Value v, const Share& have, const Share& want) {
    const Value x = now_[v];
    const Op& op = graph_.op(v);
    if (op.code == OpCode::iota && op.integer("axis") != want.axis) {  // the same along every other axis
      Type t = op.type;
      t.shape[want.axis] = half_extent(t.shape[want.axis]);
      return to_.iota(t, op.integer("axis"));
    }
    if (have.is_whole()) return part(x, want.axis, core_);
    if (have.is_summand() && want.is_whole()) return sum(x, x);
    if (have.is_summand()) return sum(part(x, want.axis, core_), part(x, want.axis, 1 - core_));
    const std::int64_t n = graph_.type(v).shape[have.axis];
    const bool hbm = pairing_.through_hbm || has_few_rows(graph_.type(v).shape, have.axis);
    const OpCode gather = hbm ? OpCode::pair_gather_hbm : OpCode::pair_gather;
    const Value whole = to_.add(gather, {x}, {std::int64_t{have.axis}, n, std::int64_t{core_}});
    return want.is_whole() ? whole : part(whole, want.axis, core_);
  }
  // What this core has, and what the other one sends.
  Value sum(Value mine, Value sent) {
    return to_.add(OpCode::add, {mine, to_.add(OpCode::exchange, {sent}, {std::int64_t{core_}})});
  }
  Value part(Value x, int axis, int core) {
    const Shape& shape = to_.type(x).shape;
    Ints starts(shape.size(), 0), sizes = shape, steps(shape.size(), 1);
    sizes[axis] = half_extent(shape[axis]);
    starts[axis] = core * (shape[axis] - sizes[axis]);
    return to_.add(OpCode::slice, {x}, {starts, sizes, steps});
  }

  // Each core writes a half of an output, also of one that both have.
  Value written(Value v, const Share& share) {
    const Shape& shape = graph_.type(v).shape;
    int axis = share.axis;
    if (pairing_.writes_all) return as(v, share);
    if (share.is_whole()) {
      const auto it = std::find_if(shape.begin(), shape.end(), [](std::int64_t n) { return n >= 2 && n % 2 == 0; });
      if (it == shape.end()) return as(v, share);
      axis = static_cast<int>(it - shape.begin());
    }
    const Value mine = share.is_whole() ? part(as(v, share), axis, core_) : as(v, share);
    return to_.add(OpCode::pair_part, {mine}, {std::int64_t{axis}, shape[axis], std::int64_t{core_}});
  }

  const Graph& graph_;
  const Pairing& pairing_;
  int core_;
  Graph to_;
  std::vector<Value> now_;
  std::map<std::pair<Value, Share>, Value> changed_;
};

bool is_odd_half(const Shape& shape, const Share& share) { return share.is_half() && shape[share.axis] % 2 != 0; }

bool has_odd_output(const Graph& graph) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(), [&](const Output& o) {
    const Shape& s = graph.type(o.value).shape;
    return std::any_of(s.begin(), s.end(), [](std::int64_t n) { return n > 2 && n % 2 != 0; });
  });
}

// Whether something is computed by both cores of which they have no half for themselves.
bool overlaps(const Graph& graph, const Pairing& pairing) {
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Shape& s = graph.type(graph.outputs()[i].value).shape;
    const Share& share = pairing.outputs[i];
    const bool has_even = std::any_of(s.begin(), s.end(), [](std::int64_t n) { return n % 2 == 0; });
    if (share.is_whole() ? !has_even : is_odd_half(s, share)) return true;
  }
  for (Value v = 0; v < graph.size(); ++v) {
    if (is_odd_half(graph.type(v).shape, pairing.shares[v])) return true;
  }
  return false;
}

// Whether tiles are gathered that could go through HBM.
bool gathers(const Graph& graph, const Pairing& p) {
  const Graph half = half_of(graph, p, 0);
  const auto is_gather = [](const Op& op) { return op.code == OpCode::pair_gather; };
  return std::any_of(half.ops().begin(), half.ops().end(), is_gather);
}

}  // namespace

std::vector<Pairing> pairings(const Graph& graph, const Arch& arch) {
  std::vector<Pairing> out;
  std::set<std::pair<std::vector<Share>, std::vector<Share>>> seen;
  int rank = 0;
  for (const Output& o : graph.outputs()) rank = std::max(rank, graph.type(o.value).rank());
  const auto add = [&](double meeting, bool with_odd) {
    const Costs costs(graph, arch, meeting);
    for (int axis = -1; axis < rank; ++axis) {
      Pairing p = Planner(graph, costs, with_odd).plan(axis < 0 ? std::nullopt : std::optional(axis));
      if (seen.emplace(p.shares, p.outputs).second) out.push_back(std::move(p));
    }
  };
  for (const double meeting : {1.0, 0.25, 8.0, 1000.0}) add(meeting, false);
  if (has_odd_output(graph)) add(kAlone, true);
  std::erase_if(out, [&](const Pairing& p) { return !agrees(graph, p); });
  std::stable_sort(out.begin(), out.end(),
                   [](const Pairing& a, const Pairing& b) { return a.estimate_ns < b.estimate_ns; });
  for (std::size_t i = out.size(); i-- > 0;) {
    if (!gathers(graph, out[i])) continue;
    Pairing p = out[i];
    p.through_hbm = true;
    p.what += ", through HBM";
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(p));
  }
  out.push_back({.what = "both compute everything",
                 .shares = std::vector<Share>(graph.size()),
                 .outputs = std::vector<Share>(graph.outputs().size()),
                 .writes_all = true});
  return out;
}

bool agrees(const Graph& graph, const Pairing& pairing) {
  if (!overlaps(graph, pairing)) return true;
  const Graph half = half_of(graph, pairing, 0);
  return std::none_of(half.ops().begin(), half.ops().end(), [](const Op& op) {
    return op.code == OpCode::exchange || op.code == OpCode::pair_gather || op.code == OpCode::pair_gather_hbm;
  });
}

bool writes_middle(const Graph& half) {
  return std::any_of(half.ops().begin(), half.ops().end(), [&](const Op& op) {
    if (op.code != OpCode::pair_part) return false;
    return 2 * half.type(op.operands[0]).shape[op.integer("axis")] != op.integer("extent");
  });
}

Graph half_of(const Graph& graph, const Pairing& pairing, int core) { return Halver(graph, pairing, core).run(); }

}  // namespace kiln::tensor
