#include "kiln/tensor/passes/fuse.h"

#include <algorithm>
#include <functional>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

std::optional<std::size_t> row_dims(const Shape& shape, std::int64_t rows) {
  std::int64_t n = 1;
  for (std::size_t p = 0;; ++p) {
    if (n == rows) return p;
    if (p == shape.size()) return {};
    n *= shape[p];
  }
}

namespace {

bool is_source(OpCode code) { return code == OpCode::input || code == OpCode::constant || code == OpCode::iota; }
bool is_copy(OpCode code) {
  return code == OpCode::concat || code == OpCode::scatter_rows || code == OpCode::update_slice ||
         code == OpCode::dynamic_slice;
}
bool is_reduction(OpCode code) { return code >= OpCode::sum && code <= OpCode::min; }

std::set<std::int64_t> prefix_products(const Shape& shape, std::size_t most) {
  std::set<std::int64_t> out{1};
  std::int64_t n = 1;
  for (std::size_t i = 0; i < most; ++i) out.insert(n *= shape[i]);
  return out;
}

// The R that an op allows by itself.
std::set<std::int64_t> own_candidates(const Graph& graph, const Op& op) {
  const Shape& shape = op.type.shape;
  if (is_reduction(op.code)) {
    const Shape& x = graph.type(op.operands[0]).shape;
    return prefix_products(x,
                           static_cast<std::size_t>(*std::min_element(op.ints("axes").begin(), op.ints("axes").end())));
  }
  switch (op.code) {
    case OpCode::matmul:
      return {product(shape, 0, shape.size() - 1)};
    case OpCode::gather_rows:
      return {graph.type(op.operands[1]).size()};
    case OpCode::cumsum:
      return prefix_products(shape, static_cast<std::size_t>(op.integer("axis")));
    case OpCode::concat:
      return prefix_products(shape, static_cast<std::size_t>(op.integer("axis")));
    default:
      return prefix_products(shape, shape.size());
  }
}

// Whether operand i of an op may be a value of the same region when it has R rows.
bool keeps_rows(const Graph& graph, const Op& op, std::size_t i, std::int64_t rows) {
  const Shape &x = graph.type(op.operands[i]).shape, &y = op.type.shape;
  const auto px = row_dims(x, rows), py = row_dims(y, rows);
  if (!px || !py) return false;
  if (op.code == OpCode::matmul) return i == 0 && product(x, 0, x.size() - 1) == rows;
  if (op.code == OpCode::gather_rows) return false;
  if (op.code == OpCode::reshape) return true;
  if (op.code == OpCode::transpose) {
    for (std::size_t d = 0; d < *py; ++d) {
      if (op.ints("perm")[d] != static_cast<std::int64_t>(d)) return false;
    }
    return true;
  }
  // Right-aligned: every row dimension is there in full.
  const std::size_t skip = y.size() - x.size();
  for (std::size_t d = 0; d < *py; ++d) {
    if (y[d] != 1 && (d < skip || x[d - skip] != y[d])) return false;
  }
  if (op.code == OpCode::slice) {
    for (std::size_t d = 0; d < *py; ++d) {
      if (op.ints("starts")[d] != 0 || op.ints("steps")[d] != 1) return false;
    }
  }
  return true;
}

class Fuser {
 public:
  Fuser(const Graph& graph, const FuseOptions& options) : graph_(graph), options_(options) {}
  Fusion run();

 private:
  bool is_computed(Value v) const;
  Value base_of(Value v) const;
  void place(Value v);
  std::set<std::int64_t> common(Value v, std::size_t i, std::set<std::int64_t> rows) const;
  bool makes_cycle(const std::set<int>& merged, const Op& op) const;
  bool meet(const std::set<int>& merged, std::set<std::int64_t>& rows) const;
  bool reaches(int from, const std::set<int>& targets, std::vector<int>& state) const;
  std::vector<Value> outside(Value v) const;
  void merge(int into, int from);
  void add_views(Value v, int region);
  void order();
  void find_stores();
  std::optional<Strided> written_back(Value output, Value& base) const;

  const Graph& graph_;
  FuseOptions options_;
  Fusion f_;
};

// A value that some instruction computes: neither a source nor a view.
bool Fuser::is_computed(Value v) const { return !is_source(graph_.op(v).code) && !is_view(graph_.op(v).code); }

Value Fuser::base_of(Value v) const {
  while (is_view(graph_.op(v).code)) v = graph_.op(v).operands[0];
  return v;
}

// The R with which v and operand i, with the views between it and what is computed, can be in one region.
std::set<std::int64_t> Fuser::common(Value v, std::size_t i, std::set<std::int64_t> rows) const {
  std::erase_if(rows, [&](std::int64_t r) {
    if (!keeps_rows(graph_, graph_.op(v), i, r)) return true;
    for (Value w = graph_.op(v).operands[i]; is_view(graph_.op(w).code); w = graph_.op(w).operands[0]) {
      if (!keeps_rows(graph_, graph_.op(w), 0, r)) return true;
    }
    return false;
  });
  return rows;
}

// What the computation of v reads from outside of a region, as bases.
std::vector<Value> Fuser::outside(Value v) const {
  std::vector<Value> out;
  for (Value operand : graph_.op(v).operands) {
    const Value b = base_of(operand);
    if (is_computed(b)) out.push_back(b);
  }
  return out;
}

bool Fuser::reaches(int from, const std::set<int>& targets, std::vector<int>& state) const {
  if (targets.contains(from)) return true;
  if (state[from]) return state[from] == 2;
  state[from] = 1;
  for (Value v : f_.regions[from].ops) {
    for (Value b : outside(v)) {
      const int r = f_.region_of[b];
      if (r >= 0 && r != from && reaches(r, targets, state)) {
        state[from] = 2;
        return true;
      }
    }
  }
  return false;
}

// Whether something outside of the merged regions stands between them.
bool Fuser::makes_cycle(const std::set<int>& merged, const Op& op) const {
  std::vector<int> state(f_.regions.size(), 0);
  const auto bad = [&](Value v) {
    const int r = f_.region_of[v];
    return r >= 0 && !merged.contains(r) && reaches(r, merged, state);
  };
  for (Value operand : op.operands) {
    const Value b = base_of(operand);
    if (is_computed(b) && bad(b)) return true;
  }
  for (int m : merged) {
    for (Value v : f_.regions[m].ops) {
      for (Value b : outside(v)) {
        if (bad(b)) return true;
      }
    }
  }
  return false;
}

// What regions read of each other keeps its rows, so that they can be one. Leaves the R for which that holds.
bool Fuser::meet(const std::set<int>& merged, std::set<std::int64_t>& rows) const {
  for (int m : merged) {
    for (Value v : f_.regions[m].ops) {
      if (!is_computed(v)) continue;
      for (std::size_t i = 0; i < graph_.op(v).operands.size(); ++i) {
        const Value b = base_of(graph_.op(v).operands[i]);
        if (!is_computed(b) || f_.region_of[b] == m || !merged.contains(f_.region_of[b])) continue;
        rows = common(v, i, rows);
        if (rows.empty()) return false;
      }
    }
  }
  return true;
}

void Fuser::merge(int into, int from) {
  if (into == from) return;
  auto& ops = f_.regions[into].ops;
  ops.insert(ops.end(), f_.regions[from].ops.begin(), f_.regions[from].ops.end());
  std::sort(ops.begin(), ops.end());
  for (Value v : f_.regions[from].ops) f_.region_of[v] = into;
  f_.regions[from].ops.clear();
}

// The views between v and what the region computes are of the region.
void Fuser::add_views(Value v, int region) {
  for (; is_view(graph_.op(v).code); v = graph_.op(v).operands[0]) {
    if (f_.region_of[v] == region) return;
    f_.region_of[v] = region;
    auto& ops = f_.regions[region].ops;
    ops.push_back(v);
    std::sort(ops.begin(), ops.end());
  }
}

// Fewer rows than before leave lanes idle: worth it when computing with them is quicker than a way through HBM.
bool is_worth(const std::set<std::int64_t>& before, const std::set<std::int64_t>& after, std::int64_t elements) {
  if (after.empty()) return false;
  const auto lanes = [](const std::set<std::int64_t>& rows) {
    return static_cast<double>(std::min<std::int64_t>(128, *rows.rbegin()));
  };
  constexpr double kWayNs = 4000, kWayPerElementNs = 0.02;  // there and back
  const auto n = static_cast<double>(elements);
  return n / lanes(after) <= n / lanes(before) + kWayNs + n * kWayPerElementNs;
}

void Fuser::place(Value v) {
  const Op& op = graph_.op(v);
  std::set<std::int64_t> rows = own_candidates(graph_, op);
  std::set<int> merged;
  for (std::size_t i = 0; options_.fuse && i < op.operands.size(); ++i) {
    const Value b = base_of(op.operands[i]);
    const int region = is_computed(b) ? f_.region_of[b] : -1;
    if (region < 0 || f_.regions[region].kind != Region::Kind::rows) continue;
    if (op.code == OpCode::scatter_rows || op.code == OpCode::update_slice || op.code == OpCode::dynamic_slice)
      continue;
    std::set<std::int64_t> both;
    std::set_intersection(rows.begin(), rows.end(), f_.regions[region].candidates.begin(),
                          f_.regions[region].candidates.end(), std::inserter(both, both.end()));
    both = common(v, i, std::move(both));
    std::set<int> more = merged;
    more.insert(region);
    // What else the op reads of these regions is read with its rows, or the op stays outside.
    for (std::size_t j = 0; j < op.operands.size(); ++j) {
      const Value c = base_of(op.operands[j]);
      if (is_computed(c) && more.contains(f_.region_of[c])) both = common(v, j, std::move(both));
    }
    if (both.empty() || !meet(more, both)) continue;
    const std::int64_t elements = std::max(op.type.size(), graph_.type(op.operands[i]).size());
    if (!is_worth(rows, both, elements) || !is_worth(f_.regions[region].candidates, both, elements)) continue;
    if (makes_cycle(more, op)) continue;
    merged = std::move(more);
    rows = std::move(both);
  }
  const bool copies = is_copy(op.code) && merged.empty();
  int region = merged.empty() ? static_cast<int>(f_.regions.size()) : *merged.begin();
  if (merged.empty()) f_.regions.push_back({});
  std::vector<Value> links;  // views through which the merged regions read each other
  for (int m : merged) {
    for (Value u : f_.regions[m].ops) {
      for (Value x : graph_.op(u).operands) {
        const Value b = base_of(x);
        if (is_computed(u) && is_computed(b) && f_.region_of[b] != m && merged.contains(f_.region_of[b]))
          links.push_back(x);
      }
    }
  }
  for (int m : merged) merge(region, m);
  for (Value x : links) add_views(x, region);
  Region& r = f_.regions[region];
  r.kind = copies ? Region::Kind::copies : Region::Kind::rows;
  r.candidates = rows;
  f_.region_of[v] = region;
  for (Value x : op.operands) {  // all that is read of the region is of it
    if (!merged.empty() && is_computed(base_of(x)) && f_.region_of[base_of(x)] == region) add_views(x, region);
  }
  r.ops.push_back(v);
}

// Regions so that each stands behind those whose results it reads.
void Fuser::order() {
  std::vector<int> position(f_.regions.size(), -1);
  std::vector<Region> sorted;
  const std::function<void(int)> visit = [&](int r) {
    if (position[r] >= 0 || f_.regions[r].ops.empty()) return;
    position[r] = 0;
    for (Value v : f_.regions[r].ops) {
      for (Value b : outside(v)) {
        if (f_.region_of[b] >= 0 && f_.region_of[b] != r) visit(f_.region_of[b]);
      }
    }
    position[r] = static_cast<int>(sorted.size());
    sorted.push_back(f_.regions[r]);
  };
  for (std::size_t r = 0; r < f_.regions.size(); ++r) visit(static_cast<int>(r));
  for (int& r : f_.region_of) {
    if (r >= 0) r = position[r];
  }
  f_.regions = std::move(sorted);
}

// An output that is a transposed or reshaped value of a region is written where it belongs at once: the places of the
// value's elements in the output.
std::optional<Strided> Fuser::written_back(Value output, Value& base) const {
  std::optional<Strided> s = Strided::contiguous(graph_.type(output).shape);
  Value v = output;
  while (is_view(graph_.op(v).code)) {
    const Op& op = graph_.op(v);
    if (op.code == OpCode::transpose) {
      Ints back(op.ints("perm").size());
      for (std::size_t i = 0; i < back.size(); ++i) back[op.ints("perm")[i]] = static_cast<std::int64_t>(i);
      s = permuted(*s, back);
    } else if (op.code == OpCode::reshape) {
      s = reshaped(*s, graph_.type(op.operands[0]).shape);
    } else {
      return {};
    }
    if (!s) return {};
    v = op.operands[0];
  }
  base = v;
  return s;
}

void Fuser::find_stores() {
  f_.is_stored.assign(graph_.size(), false);
  f_.stores.resize(f_.regions.size());
  for (Value v = 0; v < graph_.size(); ++v) {
    if (is_source(graph_.op(v).code)) f_.is_stored[v] = true;
    if (!is_computed(v)) continue;
    const Op& op = graph_.op(v);
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const Value b = base_of(op.operands[i]);
      const bool is_matrix = op.code == OpCode::matmul && i == 1;
      if (is_computed(b) && (f_.region_of[b] != f_.region_of[v] || is_matrix)) f_.is_stored[b] = true;
    }
    if (f_.regions[f_.region_of[v]].kind == Region::Kind::copies) f_.is_stored[v] = true;
  }
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    Value base = 0;
    const auto access = written_back(graph_.outputs()[i].value, base);
    const bool rows = access && is_computed(base) && f_.regions[f_.region_of[base]].kind == Region::Kind::rows;
    if (rows) {
      f_.stores[f_.region_of[base]].push_back({base, static_cast<int>(i), access});
    } else {
      f_.copied.push_back(static_cast<int>(i));
      const Value b = base_of(graph_.outputs()[i].value);
      f_.is_stored[b] = true;
    }
  }
  for (std::size_t r = 0; r < f_.regions.size(); ++r) {
    for (Value v : f_.regions[r].ops) {
      if (is_computed(v) && f_.is_stored[v] && f_.regions[r].kind == Region::Kind::rows)
        f_.stores[r].push_back({v, -1, {}});
    }
  }
}

Fusion Fuser::run() {
  f_.region_of.assign(graph_.size(), -1);
  for (Value v = 0; v < graph_.size(); ++v) {
    if (is_computed(v)) place(v);
  }
  order();
  find_stores();
  return std::move(f_);
}

}  // namespace

Fusion fuse(const Graph& graph, const FuseOptions& options) { return Fuser(graph, options).run(); }

Source source_of(const Graph& graph, const Fusion& fusion, Value v) {
  if (graph.op(v).code == OpCode::iota) {  // its storage is one ramp
    Strided ramp{0, {}};
    for (std::int64_t n : graph.type(v).shape) ramp.dims.push_back({0, n});
    ramp.dims[graph.op(v).integer("axis")].stride = 1;
    return {v, ramp};
  }
  if (fusion.is_stored[v] && !is_view(graph.op(v).code)) return {v, Strided::contiguous(graph.type(v).shape)};
  KILN_ASSERT(is_view(graph.op(v).code));
  const Source below = source_of(graph, fusion, graph.op(v).operands[0]);
  const auto access = viewed(below.access, graph.op(v));
  if (!access) internal_error(__FILE__, __LINE__, "a view that is no access function was not stored");
  return {below.base, *access};
}

}  // namespace kiln::tensor
