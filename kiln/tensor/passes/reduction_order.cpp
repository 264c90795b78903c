#include "kiln/tensor/passes/reduction_order.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/tensor/passes/norm_group.h"
#include "kiln/tensor/passes/strided.h"
#include "kiln/tensor/passes/tile.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kAllLanes = 128;
constexpr std::int64_t kFewSideBySide = 32;  // side by side: more are worth another view
constexpr std::int64_t kRowElements = 4096;  // of an operand, on a partition

using Viewing = std::function<Expr(const Expr&)>;

bool is_made_by_elements(OpCode code) { return is_elementwise(code) || code == OpCode::where || code == OpCode::cast; }

Expr reduced_over(OpCode code, const Here& x, const Ints& axes) { return apply(code, {x}, {axes, true}, x.at); }

// A view of what elementwise ops make is made of views of their operands, so that they are computed where the view is
// read: computing a few of them twice is quicker than a way through HBM.
class Lifter {
 public:
  Lifter(Graph& graph, Shape whole, Viewing view) : g_(graph), whole_(std::move(whole)), view_(std::move(view)) {}
  Expr run(const Expr& x) {
    const Expr seen = view_(x), made(g_, lifted(x.value()).value_or(seen.value()));
    return made.shape() == seen.shape() ? made : broadcast_to(made, seen.shape());  // of numbers alone
  }

 private:
  std::optional<Value> lifted(Value v) {
    if (const auto done = done_.find(v); done != done_.end()) return done->second;
    const Op op = g_.op(v);  // a copy: adding ops moves them
    if (const auto number = splat_of(g_, v)) return g_.constant({op.type.dtype, {}}, {*number});
    if (!is_made_by_elements(op.code) || op.type.shape != whole_ || left_ == 0) return done_[v] = source(Expr(g_, v));
    --left_;
    std::vector<Value> operands;
    for (Value x : op.operands) {
      const auto there = lifted(x);
      if (!there) return done_[v] = source(Expr(g_, v));
      operands.push_back(*there);
    }
    return done_[v] = g_.add(op.code, std::move(operands), op.attrs);
  }

  // Nothing when the view of what is repeated is at no fixed strides.
  std::optional<Value> source(const Expr& x) {
    if (x.shape() == whole_) return view_(x).value();
    const Expr wide = broadcast_to(x, whole_), seen = view_(wide);
    std::optional<Strided> access = spread(Strided::contiguous(x.shape()), whole_);
    std::vector<Value> views;
    for (Value v = seen.value(); v != wide.value(); v = g_.op(v).operands[0]) views.push_back(v);
    for (std::size_t i = views.size(); access && i-- > 0;) access = viewed(*access, g_.op(views[i]));
    return access ? std::optional(seen.value()) : std::nullopt;
  }

  Graph& g_;
  Shape whole_;
  Viewing view_;
  int left_ = 8;  // ops that may be computed once more
  std::map<Value, std::optional<Value>> done_;
};

Expr lifted(const Expr& x, const Viewing& view) { return Lifter(x.graph(), x.shape(), view).run(x); }

// The last run of neighbours among the axes.
Ints last_block(const Ints& axes) {
  std::size_t first = axes.size() - 1;
  while (first > 0 && axes[first - 1] + 1 == axes[first]) --first;
  return {axes.begin() + static_cast<std::ptrdiff_t>(first), axes.end()};
}

// Dimensions that are no neighbours: the last ones first.
std::optional<Value> blockwise_reduction(const Rewriting& r) {
  const Ints &axes = r.op.ints("axes"), last = last_block(axes);
  if (last.size() == axes.size()) return {};
  const Expr part = reduced_over(r.op.code, r.operand(0), last);
  const Ints others(axes.begin(), axes.end() - static_cast<std::ptrdiff_t>(last.size()));
  return reshape(reduced_over(r.op.code, part, others), r.op.type.shape).value();
}

// Neighbouring dimensions with others behind them: (before, reduced, behind).
struct Middle {
  std::int64_t before, reduced, behind;
  std::int64_t size;  // bytes of an element
  bool turns;         // the tensor engine can
  double elements() const {
    return static_cast<double>(before) * static_cast<double>(reduced) * static_cast<double>(behind);
  }
};
// `rows` of the reduced dimension and `columns` of the one behind it lie on a partition.
struct Split {
  std::int64_t rows = 0, columns = 0;
  double ns = 0;
};

constexpr double kBytesPerNs = 368, kElementNs = 1.04, kStepNs = 5000;
constexpr double kFullRun = 512, kRunBytes = 180;  // a shorter run takes as long; bytes that each costs beside its own
constexpr std::int64_t kSplitElements = 16384;     // of an operand, on a partition
constexpr double kBlockNs = 1200;                  // a block of 128 rows comes with a DMA and goes with another one

double split_ns(const Middle& m, std::int64_t rows, std::int64_t columns) {
  const double bytes = m.elements() * static_cast<double>(m.size);
  const auto run = static_cast<double>((columns == m.behind ? rows * columns : columns) * m.size);
  const std::int64_t outer = m.before * (m.reduced / rows), side = m.behind / columns;
  const auto lanes = static_cast<double>(std::min(kAllLanes, std::max(outer, side)));
  const double moved =
      bytes * std::max(1 + kRunBytes / run, kFullRun / run) / (kBytesPerNs * std::min(1.0, lanes / 16));
  const double once = std::max(moved, m.elements() / lanes * kElementNs);
  const double left = 3 * bytes / static_cast<double>(rows) / kBytesPerNs;
  return once + (rows == m.reduced ? 0 : kStepNs + left);
}

Split best_split(const Middle& m) {
  Split best;
  const auto all_columns = divisors(m.behind);
  for (std::int64_t rows : divisors(m.reduced)) {
    for (std::int64_t columns : all_columns) {
      if (rows < 2 || rows * columns > kSplitElements) continue;
      const double ns = split_ns(m, rows, columns);
      if (best.rows == 0 || ns < best.ns) best = {rows, columns, ns};
    }
  }
  return best;
}

// Columns as rows, every element turned on the tensor engine.
double turned_ns(const Middle& m) {
  if (!m.turns || m.reduced < 8 || m.reduced > 4 * kRowElements) return 1e30;
  const double element = m.size == 4 ? 0.0185 : 0.01;
  const auto rows = static_cast<double>(m.before * m.behind), lanes = static_cast<double>(kAllLanes);
  const double blocks = std::ceil(rows / lanes);
  return std::max({m.elements() * element, m.elements() / std::min(rows, lanes) * kElementNs, blocks * kBlockNs});
}

Middle middle_of(const Rewriting& r) {
  const Expr x = r.operand(0);
  const Ints& axes = r.op.ints("axes");
  const auto first = static_cast<std::size_t>(axes.front()), behind = static_cast<std::size_t>(axes.back()) + 1;
  return {product(x.shape(), 0, first), product(x.shape(), first, behind), product(x.shape(), behind, x.shape().size()),
          size_bytes(x.dtype()), is_float(x.dtype()) && size_bytes(x.dtype()) >= 2};
}

// Some of the rows that are added up and some columns on each partition; what is left of the rows in a second step.
std::optional<Value> split_reduction(const Rewriting& r) {
  const Middle m = middle_of(r);
  if (m.behind == 1 || m.reduced == 1) return {};
  const bool fits = m.reduced * m.behind <= kRowElements;
  if (m.before >= kFewSideBySide && fits) return {};
  const Split split = best_split(m);
  if (split.rows == 0 || split.ns >= turned_ns(m)) return {};
  if (split.columns == m.behind && split.rows == m.reduced) return {};  // as it stands
  const std::int64_t a = m.reduced / split.rows, b = m.behind / split.columns;
  const Expr seen = lifted(r.operand(0), [&](const Expr& e) {
    return transpose(reshape(e, {m.before, a, split.rows, b, split.columns}), {0, 1, 3, 2, 4});
  });
  Expr out = reshape(reduced_over(r.op.code, seen, {3}), {m.before, a, m.behind});
  if (a > 1) out = reduced_over(r.op.code, out, {1});
  return reshape(out, r.op.type.shape).value();
}

// Whether x is made, element by element, of dimensions in another order: columns that were split, which are one block
// for the tensor engine.
bool is_split(const Graph& graph, Value x, int depth = 6) {
  const Op& op = graph.op(x);
  if (op.code == OpCode::transpose) return true;
  return is_made_by_elements(op.code) && depth > 0 &&
         std::any_of(op.operands.begin(), op.operands.end(), [&](Value y) { return is_split(graph, y, depth - 1); });
}

// Whether there are so few elements that they are reduced as they stand before they would have been turned, which is a
// DMA transfer for each of them.
bool is_done_as_it_stands(const Rewriting& r) {
  constexpr std::int64_t kFewestRows = 8;
  const Middle m = middle_of(r);
  if (is_split(r.to, r.operands[0])) return false;
  if (m.behind == 1 || m.before < kFewestRows || m.reduced * m.behind > kRowElements) return false;
  return m.elements() / static_cast<double>(std::min(m.before, kAllLanes)) * kElementNs < kStepNs;
}

// Reduced dimensions behind the others, when so many more rows can be worked on side by side.
std::optional<Value> turned_reduction(const Rewriting& r) {
  const Expr x = r.operand(0);
  const Ints& axes = r.op.ints("axes");
  Ints perm;
  Shape kept_shape;
  for (int d = 0; d < x.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
    perm.push_back(d);
    kept_shape.push_back(x.shape()[d]);
  }
  const std::int64_t rows = product(kept_shape), now = product(x.shape(), 0, static_cast<std::size_t>(axes[0]));
  if (now >= kFewSideBySide || rows <= now) return {};
  Ints behind;
  for (std::int64_t a : axes) {
    behind.push_back(static_cast<std::int64_t>(perm.size()));
    perm.push_back(a);
  }
  const Expr turned = lifted(x, [&](const Expr& e) { return transpose(e, perm); });
  return reshape(reduced_over(r.op.code, turned, behind), r.op.type.shape).value();
}

// What is computed, and all of it reduced: the last dimensions first, while its rows are on the chip.
std::optional<Value> rows_first(const Rewriting& r) {
  const Expr x = r.operand(0);
  const Ints& axes = r.op.ints("axes");
  const OpCode made = r.operand_op(0).code;
  if (axes.size() < 2 || !is_made_by_elements(made)) return {};
  std::int64_t rows = product(x.shape(), 0, static_cast<std::size_t>(axes[0]));
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    rows *= x.shape()[axes[i]];
    const auto left = product(x.shape(), static_cast<std::size_t>(axes[i + 1]), x.shape().size());
    if (rows < kAllLanes || left < kFewSideBySide) continue;
    const auto cut = axes.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const Expr part = reduced_over(r.op.code, x, Ints(cut, axes.end()));
    const std::int64_t before = product(x.shape(), 0, static_cast<std::size_t>(axes[0]));
    return reshape(reduced_over(r.op.code, reshape(part, {before, rows / before}), {1}), r.op.type.shape).value();
  }
  return {};
}

// Whether v is made of a product, element by element: then its rows lie on as many partitions as the product has.
bool is_made_of_product(const Graph& graph, Value v, int depth = 12) {
  const Op& op = graph.op(v);
  if (is_product(op.code)) return true;
  const bool passes = is_made_by_elements(op.code) || op.code == OpCode::reshape;
  return passes && depth > 0 && std::any_of(op.operands.begin(), op.operands.end(), [&](Value x) {
           return is_made_of_product(graph, x, depth - 1);
         });
}

// Reductions of the last dimensions: as one dimension, and where few rows are long in two steps, so that many
// partitions work on the first.
std::optional<Value> stepwise_reduction(const Rewriting& r) {
  constexpr std::int64_t kFew = 64, kLong = 2048, kLongOfProduct = 8192;
  const Expr x = r.operand(0);
  const Ints& axes = r.op.ints("axes");
  const auto first = static_cast<std::size_t>(axes[0]);
  if (axes.size() != x.shape().size() - first) return {};
  const Shape kept_shape(x.shape().begin(), x.shape().begin() + axes[0]);
  const std::int64_t rows = product(kept_shape), n = product(x.shape(), first, x.shape().size());
  std::int64_t lanes = 1;
  const bool lies_in_rows = n <= kLongOfProduct && is_made_of_product(r.from, r.op.operands[0]);
  if (is_reduced_in_parts(r.from, static_cast<Value>(&r.op - r.from.ops().data()))) return {};
  if (rows < kFew && n >= kLong && !lies_in_rows) {
    if (const auto v = rows_first(r)) return v;
    std::int64_t prefix = 1;  // where dimensions begin, so that what is computed before can keep its rows
    for (std::size_t d = first; d < x.shape().size(); ++d) {
      prefix *= x.shape()[d];
      if (rows * prefix <= kAllLanes) lanes = prefix;
    }
    for (std::int64_t a = kAllLanes / std::max<std::int64_t>(rows, 1); lanes < 16 && a > lanes; --a) {
      if (n % a == 0) lanes = a;
    }
  }
  if (lanes == 1 && axes.size() == 1) return {};
  Shape shape = kept_shape;
  if (lanes > 1) shape.push_back(lanes);
  shape.push_back(n / lanes);
  const auto as_rows = [&](const Expr& e) { return reshape(e, shape); };
  const bool alone = lanes > 1 && r.from.uses()[r.op.operands[0]] == 1;  // others may share its rows
  Expr out = alone ? lifted(x, as_rows) : as_rows(x);
  out = reduced_over(r.op.code, out, {static_cast<std::int64_t>(shape.size()) - 1});
  if (lanes > 1) {
    shape.pop_back();
    out = reduced_over(r.op.code, reshape(out, shape), {static_cast<std::int64_t>(shape.size()) - 1});
  }
  return reshape(out, r.op.type.shape).value();
}

// Many elements with nothing but dimensions of one element behind them: these are reduced, too, so that they are the
// last ones.
std::optional<Value> with_ones_behind(const Rewriting& r) {
  constexpr std::int64_t kMany = 2048;
  const Middle m = middle_of(r);
  Ints axes = r.op.ints("axes");
  const std::int64_t rank = r.operand(0).rank();
  if (m.behind != 1 || m.reduced < kMany || axes.back() + 1 == rank) return {};
  for (std::int64_t d = axes.back() + 1; d < rank; ++d) axes.push_back(d);
  return reshape(reduced_over(r.op.code, r.operand(0), axes), r.op.type.shape).value();
}

}  // namespace

std::optional<Value> reordered_reduction(const Rewriting& r) {
  if (const auto v = blockwise_reduction(r)) return v;
  if (const auto v = with_ones_behind(r)) return v;
  if (const auto v = split_reduction(r)) return v;
  if (is_done_as_it_stands(r)) return {};
  if (const auto v = turned_reduction(r)) return v;
  return stepwise_reduction(r);
}

namespace {

// Whether v is made, element by element, of one computed value for each of the first rows; of places too, if `any`.
bool reads_one_per_row(const Graph& g, Value v, const Shape& whole, std::int64_t rows, bool any, int depth) {
  const Op& op = g.op(v);
  if (!is_made_by_elements(op.code) || op.type.shape != whole || depth == 0) return false;
  return std::any_of(op.operands.begin(), op.operands.end(), [&](Value x) {
    const Type& t = g.type(x);
    const bool source =
        g.op(x).code == OpCode::input || g.op(x).code == OpCode::constant || !(any || is_float(t.dtype));
    if (t.rank() == static_cast<int>(whole.size()) && t.size() == rows && t.shape[0] == whole[0] && !source)
      return true;
    return reads_one_per_row(g, x, whole, rows, any, depth - 1);
  });
}

}  // namespace

bool adds_up_along_rows(const Graph& graph, Value x, const Ints& axes) {
  constexpr std::int64_t kManyRows = 512, kFewestColumns = 128, kMostColumns = 2048;
  constexpr int kOps = 8;
  const Type& t = graph.type(x);
  if (axes.empty() || axes.back() + 1 != static_cast<std::int64_t>(axes.size()) || !is_float(t.dtype)) return false;
  if (size_bytes(t.dtype) < 2 || axes.back() + 1 >= t.rank()) return false;
  const std::int64_t rows = product(t.shape, 0, axes.size()), columns = product(t.shape, axes.size(), t.shape.size());
  if (rows < kManyRows || columns < kFewestColumns || columns > kMostColumns) return false;
  const Op& op = graph.op(x);
  const DType from = op.code == OpCode::cast ? graph.type(op.operands[0]).dtype : t.dtype;
  const bool narrow = size_bytes(is_float(from) ? from : t.dtype) == 2;
  return reads_one_per_row(graph, x, t.shape, rows, narrow, kOps);
}

}  // namespace kiln::tensor
