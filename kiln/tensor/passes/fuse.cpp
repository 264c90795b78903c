#include "kiln/tensor/passes/fuse.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "kiln/tensor/passes/conv_tail.h"
#include "kiln/tensor/passes/fuser.h"
#include "kiln/tensor/passes/norm_group.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/row_candidates.h"
#include "kiln/tensor/passes/row_sums.h"
#include "kiln/tensor/passes/stored_order.h"

namespace kiln::tensor {

bool is_copy(OpCode code) {
  if (code >= OpCode::for_loop && code <= OpCode::result) return true;
  if (code == OpCode::conv || code == OpCode::mx_matmul) return true;
  return is_join_op(code) || code == OpCode::scatter_rows || code == OpCode::update_slice ||
         code == OpCode::dynamic_slice || code == OpCode::scatter;
}

bool is_join_op(OpCode code) {
  return code == OpCode::concat || code == OpCode::pair_part || code == OpCode::pair_gather_hbm;
}

std::int64_t join_start(const Op& op) {
  if (op.code == OpCode::concat || op.integer("core") == 0) return 0;
  return op.integer("extent") / 2;
}

// A value that some instruction computes: neither a source nor a view.
bool Fuser::is_computed(Value v) const {
  return !is_source(graph_.op(v).code) && !is_view(graph_.op(v).code) && !f_.converted.contains(v);
}

Value Fuser::base_of(Value v) const {
  while (is_view(graph_.op(v).code) || f_.converted.contains(v)) v = graph_.op(v).operands[0];
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

namespace {

// Fewer rows than before leave lanes idle: worth it when computing with them is quicker than a way through HBM. Rows
// that no partition holds are read again for each pass over them anyway: then only the operand, `moved`, goes there.
bool is_worth(const std::set<std::int64_t>& before, const std::set<std::int64_t>& after, std::int64_t elements,
              std::int64_t moved) {
  constexpr std::int64_t kLongRow = 65536;
  if (after.empty()) return false;
  const auto lanes = [](const std::set<std::int64_t>& rows) {
    return static_cast<double>(std::min<std::int64_t>(128, *rows.rbegin()));
  };
  constexpr double kWayNs = 4000, kWayPerElementNs = 0.02;  // there and back
  const auto n = static_cast<double>(elements);
  const bool is_long = lanes(after) < lanes(before) && elements / *after.rbegin() > kLongRow;
  const double way = kWayNs + (is_long ? static_cast<double>(moved) : n) * kWayPerElementNs;
  return n / lanes(after) <= n / lanes(before) + way;
}

}  // namespace

// Short parts of many rows are joined on the chip: as DMAs every part of every row would be a transfer.
bool Fuser::joins_on_chip(const Op& op) const {
  constexpr std::int64_t kShortRun = 512, kFewRows = 32, kMostBytes = 16384;
  if (op.code != OpCode::concat) return false;
  const auto axis = static_cast<std::size_t>(op.integer("axis"));
  const Shape& shape = op.type.shape;
  const std::int64_t inner = product(shape, axis + 1, shape.size()) * size_bytes(op.type.dtype);
  if (product(shape, 0, axis) < kFewRows || inner * shape[axis] > kMostBytes) return false;
  return std::any_of(op.operands.begin(), op.operands.end(), [&](Value x) {
    const std::int64_t run = graph_.type(x).shape[axis] * inner;
    return run > 0 && run < kShortRun;
  });
}

// Whether what is joined fits no partition: it does not go in pieces.
bool Fuser::is_long_join(const Op& op, const std::set<std::int64_t>& rows) const {
  constexpr std::int64_t kMostBytes = 98304;
  return op.type.size() * size_bytes(op.type.dtype) / std::max<std::int64_t>(1, *rows.rbegin()) > kMostBytes;
}

// Elements of the largest value that a region computes or reduces.
std::int64_t Fuser::widest_of(int region) const {
  std::int64_t n = 0;
  for (Value v : f_.regions[region].ops) {
    n = std::max(n, graph_.type(v).size());
    if (reduces_rows(graph_.op(v).code)) n = std::max(n, graph_.type(graph_.op(v).operands[0]).size());
  }
  return n;
}

// Whether a region and an op with `elements` on up to `most_rows` rows fit their partitions, and together, with these
// rows, would no longer: the second step of a reduction in two steps would undo the first, and what is small and has
// few rows, such as one query of each head, would make few rows of all that meets it.
bool Fuser::outgrows_partitions(int region, const std::set<std::int64_t>& rows, std::int64_t elements,
                                std::int64_t most_rows) const {
  // An operand of 16 bits and what is made of it in float32, with some room, where nothing is known of other steps.
  constexpr double kBytes = 6.5, kPartitions = 128;
  constexpr std::int64_t kMostElements = 24576;
  const auto fitting = static_cast<std::int64_t>(options_.matrix_bytes / kPartitions / kBytes);
  const Region& r = f_.regions[region];
  const bool reduces =
      std::any_of(r.ops.begin(), r.ops.end(), [&](Value v) { return reduces_rows(graph_.op(v).code); });
  const std::int64_t widest = widest_of(region), most = reduces ? kMostElements : fitting;
  if (std::max(widest / *r.candidates.rbegin(), elements / most_rows) > most) return false;
  return std::max(widest, elements) / *rows.rbegin() > most;
}

// Whether an op that joins regions would have several products there whose matrices do not fit SBUF together: they
// would be loaded for every 128 rows, which costs much more than to store what the op reads and to load it again.
bool Fuser::loads_matrices_again(const std::set<int>& merged, Value v, Value from) const {
  constexpr double kRows = 128, kWorth = 4;
  double held = 0, again = 0;
  int products = 0;
  const auto add = [&](Value p) {
    const Op& op = graph_.op(p);
    if (!is_product(op.code) || graph_.type(op.operands[1]).rank() < 2) return;
    const Shape& y = graph_.type(op.operands[1]).shape;
    const double batch = static_cast<double>(product(y, 0, y.size() - 2));
    const double bytes =
        static_cast<double>(y[y.size() - 2] * y.back() * size_bytes(graph_.type(op.operands[1]).dtype));
    const double rows = static_cast<double>(op.type.size()) / static_cast<double>(y.back()) / std::max(1.0, batch);
    held += bytes, again += batch * bytes * (std::ceil(rows / kRows) - 1), ++products;
  };
  for (int m : merged) std::for_each(f_.regions[m].ops.begin(), f_.regions[m].ops.end(), add);
  add(v);
  if (products < 2 || held <= options_.matrix_bytes) return false;
  const Type& t = graph_.type(from);
  return again > kWorth * 2 * static_cast<double>(t.size() * size_bytes(t.dtype));
}

// Where the elements of a view lie in what it is a view of.
std::optional<Strided> Fuser::access_of(Value v) const {
  if (!is_view(graph_.op(v).code)) return Strided::contiguous(graph_.type(v).shape);
  const auto below = access_of(graph_.op(v).operands[0]);
  return below ? viewed(*below, graph_.op(v)) : std::nullopt;
}

// Whether a region is a copy of rows that lie apart by several strides, none of which fills the partitions: a product
// with them would take a few rows at a time, where one with the copy takes 128.
bool Fuser::gathers_rows(int region) const {
  constexpr std::int64_t kHalfOfPartitions = 64;
  const auto is_op = [&](Value v) { return !is_view(graph_.op(v).code); };
  const std::vector<Value>& ops = f_.regions[region].ops;
  if (std::count_if(ops.begin(), ops.end(), is_op) != 1) return false;
  const Op& op = graph_.op(*std::find_if(ops.begin(), ops.end(), is_op));
  if (op.code != OpCode::cast || graph_.type(op.operands[0]).dtype != op.type.dtype) return false;
  const auto access = access_of(op.operands[0]);
  if (!access) return false;
  const Dims& dims = access->dims;
  std::int64_t most = 1, all = 1, together = 1;
  for (std::size_t d = 0; d + 1 < dims.size(); ++d) {
    all *= dims[d].count;
    const bool goes_on = d > 0 && dims[d - 1].stride == dims[d].stride * dims[d].count;
    together = goes_on ? together * dims[d].count : dims[d].count;
    most = std::max(most, together);
  }
  return most < kHalfOfPartitions && all >= 2 * most;
}

// Whether a region computes nothing but the rows of a product of many matrices, such as queries with a norm or with
// positions: attention takes several heads together when it finds them in HBM.
bool Fuser::prepares_rows(int region, const Op& product) const {
  if (!is_product(product.code) || graph_.type(product.operands[1]).rank() < 3) return false;
  const std::vector<Value>& ops = f_.regions[region].ops;
  return std::none_of(ops.begin(), ops.end(), [&](Value v) { return is_product(graph_.op(v).code); });
}

// Whether v is a view in an order of its own that nobody but outputs wants: DMAs put it there.
bool Fuser::is_given_copy(Value v) const {
  const Op& op = graph_.op(v);
  if (op.code != OpCode::cast || graph_.type(op.operands[0]).dtype != op.type.dtype) return false;
  const auto access = access_of(op.operands[0]);
  const auto is_backwards = [](const isa::Dim& d) { return d.stride < 0 && d.count > 1; };
  if (!access || std::any_of(access->dims.begin(), access->dims.end(), is_backwards)) return false;
  int given = 0;
  for (const Output& o : graph_.outputs()) {
    if (given_by(o, uses_) == v) ++given;
  }
  return given == uses_[v];
}

// An op that a convolution does to its result, of which nobody else wants what was before.
bool Fuser::joins_tail(Value v) {
  const auto from = options_.fuse ? tail_operand(graph_, v) : std::nullopt;
  const int region = from && is_computed(*from) ? f_.region_of[*from] : -1;
  if (region < 0 || f_.regions[region].ops.back() != *from) return false;
  const Op& first = graph_.op(f_.regions[region].ops.front());
  if (first.code != OpCode::conv || first.integer("groups") != 1) return false;
  const TailStep step = tail_step(graph_, v);
  for (Value x = graph_.op(v).operands[step.by ? 1 - *step.by : 0];; x = graph_.op(x).operands[0]) {
    if (uses_[x] != 1) return false;
    if (x == *from) break;
  }
  f_.regions[region].ops.push_back(v);
  f_.region_of[v] = region;
  return true;
}

// Whether v and all of a region are of such norms: fewer rows then leave no partition idle, and long ones fit.
bool Fuser::are_in_parts(Value v, int region) const {
  const auto has = [&](Value x) { return in_parts_.contains(x); };
  return has(v) && std::all_of(f_.regions[region].ops.begin(), f_.regions[region].ops.end(), has);
}

void Fuser::place(Value v) {
  if (joins_tail(v)) return;
  const Op& op = graph_.op(v);
  std::set<std::int64_t> rows = own_candidates(graph_, op);
  std::set<int> merged;
  for (std::size_t i = 0; options_.fuse && i < op.operands.size(); ++i) {
    const Value b = base_of(op.operands[i]);
    const int region = is_computed(b) ? f_.region_of[b] : -1;
    if (region < 0 || f_.regions[region].kind != Region::Kind::rows) continue;
    if (is_copy(op.code) && op.code != OpCode::concat) continue;
    if (op.code == OpCode::concat && is_long_join(op, rows)) continue;
    if (is_product(op.code) && i == 0 && gathers_rows(region)) continue;
    if (op.code == OpCode::linear_scan && i == 2) continue;  // the steps before these, which fill a partition
    if (i == 0 && prepares_rows(region, op)) {
      f_.prepares_rows = true;
      if (!options_.prepares_rows) continue;
    }
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
    const std::int64_t moved = graph_.type(b).size();
    if (!are_in_parts(v, region)) {
      if (!is_worth(rows, both, elements, moved)) continue;
      if (!is_worth(f_.regions[region].candidates, both, std::max(elements, widest_of(region)), moved)) continue;
      if (outgrows_partitions(region, both, elements, *rows.rbegin())) continue;
    }
    if (makes_cycle(more, op) || loads_matrices_again(more, v, op.operands[i])) continue;
    merged = std::move(more);
    rows = std::move(both);
  }
  const bool copies = merged.empty() && (is_given_copy(v) || (is_copy(op.code) && !joins_on_chip(op)));
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
    for (const auto* values : {&f_.regions[r].ops, &f_.regions[r].sums}) {
      for (Value v : *values) {
        for (Value b : outside(v)) {
          if (f_.region_of[b] >= 0 && f_.region_of[b] != r) visit(f_.region_of[b]);
        }
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

// Operands from outside, numbers left out.
std::vector<Value> Fuser::read_by(int region) const {
  std::set<Value> out;
  for (Value v : f_.regions[region].ops) {
    for (Value x : graph_.op(v).operands) {
      if (f_.region_of[x] != region && !splat_of(graph_, x)) out.insert(x);
    }
  }
  return {out.begin(), out.end()};
}

namespace {

// Ops whose operands lie in their own ways.
bool stands_alone(OpCode code) {
  return is_product(code) || code == OpCode::gather_rows || code == OpCode::take_along_axis ||
         code == OpCode::put_along_axis || code == OpCode::argsort || code == OpCode::sort;
}

}  // namespace

// Whether two regions read mostly the same, with the same rows, and neither waits for the other.
bool Fuser::are_siblings(int a, int b) const {
  const Region &one = f_.regions[a], &other = f_.regions[b];
  if (one.ops.empty() || other.ops.empty() || one.candidates != other.candidates) return false;
  for (const Region* r : {&one, &other}) {
    if (r->kind != Region::Kind::rows) return false;
    for (Value v : r->ops) {
      if (stands_alone(graph_.op(v).code)) return false;
    }
  }
  const std::vector<Value> in = read_by(a), others = read_by(b);
  std::vector<Value> both;
  std::set_intersection(in.begin(), in.end(), others.begin(), others.end(), std::back_inserter(both));
  const auto size = [&](const std::vector<Value>& values) {
    std::int64_t n = 0;
    for (Value v : values) n += graph_.type(v).size();
    return n;
  };
  if (2 * size(both) < std::max(size(in), size(others))) return false;
  std::vector<int> state(f_.regions.size(), 0), back(f_.regions.size(), 0);
  return !reaches(a, {b}, state) && !reaches(b, {a}, back);
}

// Regions that read the same become one, which reads it once.
void Fuser::join_siblings() {
  std::map<Value, std::vector<int>> readers;
  for (std::size_t r = 0; r < f_.regions.size(); ++r) {
    for (Value v : read_by(static_cast<int>(r))) readers[v].push_back(static_cast<int>(r));
  }
  for (const auto& [value, regions] : readers) {
    for (std::size_t i = 1; i < regions.size(); ++i) {
      if (regions[i - 1] != regions[i] && are_siblings(regions[i - 1], regions[i])) merge(regions[i], regions[i - 1]);
    }
  }
}

Fusion Fuser::run() {
  f_.region_of.assign(graph_.size(), -1);
  if (options_.fuse) f_.converted = converted_matrices(graph_);
  if (options_.fuse) in_parts_ = reduced_in_parts(graph_);
  for (Value v = 0; v < graph_.size(); ++v) {
    if (is_computed(v)) place(v);
  }
  if (options_.fuse) join_siblings();
  if (options_.fuse && options_.row_sums) take_row_sums(graph_, f_);
  order();
  find_stores();
  inline_joins();
  if (options_.fuse && options_.read_orders) f_.orders = stored_orders(graph_, f_);
  for (auto& stores : f_.stores) {
    for (Store& s : stores) {
      if (s.output < 0 && !s.into && f_.orders.contains(s.value)) s.access = f_.orders.at(s.value);
    }
  }
  return std::move(f_);
}

Fusion fuse(const Graph& graph, const FuseOptions& options) { return Fuser(graph, options).run(); }

std::optional<Source> find_source(const Graph& graph, const Fusion& fusion, Value v) {
  if (graph.op(v).code == OpCode::iota) {  // its storage is one ramp
    Strided ramp{0, {}};
    for (std::int64_t n : graph.type(v).shape) ramp.dims.push_back({0, n});
    ramp.dims[graph.op(v).integer("axis")].stride = 1;
    return Source{v, ramp};
  }
  if (fusion.converted.contains(v)) return find_source(graph, fusion, graph.op(v).operands[0]);
  const auto order = fusion.orders.find(v);
  if (order != fusion.orders.end()) return Source{v, order->second};
  if (fusion.is_stored[v] && !is_view(graph.op(v).code)) return Source{v, Strided::contiguous(graph.type(v).shape)};
  KILN_ASSERT(is_view(graph.op(v).code));
  const auto below = find_source(graph, fusion, graph.op(v).operands[0]);
  const auto access = below ? viewed(below->access, graph.op(v)) : std::nullopt;
  return access ? std::optional(Source{below->base, *access}) : std::nullopt;
}

Source source_of(const Graph& graph, const Fusion& fusion, Value v) {
  auto source = find_source(graph, fusion, v);
  if (!source) internal_error(__FILE__, __LINE__, "a view that is no access function was not stored");
  return std::move(*source);
}

}  // namespace kiln::tensor
