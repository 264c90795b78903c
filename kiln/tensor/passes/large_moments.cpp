#include "kiln/tensor/passes/large_moments.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/norm_group.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kLargeBytes = 4 << 20;  // less is read twice in no time
constexpr std::int64_t kParts = 64;            // the squared distance of their means is at most so many variances

// The mean of x, and the mean of its squared distance from that; nothing for what is something else.
struct SpreadAlong {
  Value x;
  Ints axes;
};

class SpreadFinder {
 public:
  explicit SpreadFinder(const Graph& graph) : g_(graph) {}

  // What v is the variance of.
  std::optional<SpreadAlong> spread_of(Value v) const {
    const Op& op = g_.op(v);
    if ((op.code == OpCode::variance || op.code == OpCode::mean) && is_reduced_in_parts(g_, v)) return {};
    if (op.code == OpCode::variance) return worth({op.operands[0], op.ints("axes")});
    if (op.code != OpCode::mean) return {};
    const Op& square = g_.op(op.operands[0]);
    if (square.code != OpCode::square) return {};
    const Op& centred = g_.op(square.operands[0]);
    if (centred.code != OpCode::subtract) return {};
    const Op& mean = g_.op(centred.operands[1]);
    const bool same = mean.code == OpCode::mean && mean.operands[0] == centred.operands[0] &&
                      mean.ints("axes") == op.ints("axes") && mean.flag("keepdims");
    return same ? worth({centred.operands[0], op.ints("axes")}) : std::nullopt;
  }

 private:
  std::optional<SpreadAlong> worth(SpreadAlong s) const {
    // Floats that are widened first are read as they are.
    const bool widened = g_.op(s.x).code == OpCode::cast && is_float(g_.type(g_.op(s.x).operands[0]).dtype);
    const Value given = widened ? g_.op(s.x).operands[0] : s.x;
    const Type& t = g_.type(given);
    if (s.axes.empty() || !is_float(t.dtype) || size_bytes(t.dtype) < 2) return {};
    const bool neighbours = s.axes.back() - s.axes.front() + 1 == static_cast<std::int64_t>(s.axes.size());
    const bool last = neighbours && s.axes.back() + 1 == t.rank();
    if ((last && !has_few_long_rows(t, s.axes)) || t.size() * size_bytes(t.dtype) < kLargeBytes) return {};
    const bool ends = s.axes.back() + 1 == t.rank();  // else the sums of 16-bit floats take longer than to read twice
    if (t.shape[s.axes[0]] < 2 || (widened && !ends)) return {};
    if (!ends && size_bytes(t.dtype) == 2) return {};
    const OpCode code = g_.op(given).code;
    return code == OpCode::input || is_view(code) ? std::optional(s) : std::nullopt;
  }

  // Rows that leave partitions idle and do not fit one: their parts are rows themselves.
  static bool has_few_long_rows(const Type& t, const Ints& axes) {
    constexpr std::int64_t kFewRows = 128, kLongBytes = 160 << 10, kShortest = 128;
    const auto first = static_cast<std::size_t>(axes.front());
    return axes.size() > 1 && product(t.shape, 0, first) < kFewRows && t.shape.back() >= kShortest &&
           product(t.shape, first, t.shape.size()) * size_bytes(t.dtype) > kLongBytes;
  }

  const Graph& g_;
};

// Both in float32, with reduced dimensions as 1.
struct Sums {
  Expr mean, variance;
};

// How many elements along one of the other dimensions, with all that lies behind, are a row whose sums are all made on
// the chip: where the last dimensions, such as the channels of a group, are few elements and others lie before them.
std::int64_t elements_beside(const Shape& shape, const Ints& last, std::int64_t along) {
  constexpr std::int64_t kFewElements = 256, kMostElements = 8192, kLanes = 128;
  const auto d = static_cast<std::size_t>(along);
  const std::int64_t few = product(shape, static_cast<std::size_t>(last[0]), shape.size());
  const std::int64_t behind = product(shape, d + 1, shape.size()), rows = product(shape, 0, d + 1);
  if (few >= kFewElements || behind == few) return 1;
  std::int64_t best = 1;
  for (std::int64_t n = 1; n <= shape[d] && n * behind <= kMostElements && rows / n >= kLanes; ++n) {
    if (shape[d] % n == 0) best = n;
  }
  return best;
}

// Along the last dimensions first, of which the chip has both in one pass; then of these.
Sums nested_sums(const Expr& x, const Ints& last, const Ints& others) {
  Shape rows(x.shape().begin(), x.shape().end() - static_cast<std::ptrdiff_t>(last.size())), kept = x.shape();
  rows.push_back(-1);
  for (std::int64_t d : last) kept[static_cast<std::size_t>(d)] = 1;
  const auto along = static_cast<std::size_t>(others.back());
  const std::int64_t beside = elements_beside(x.shape(), last, others.back());
  Ints of_row{static_cast<std::int64_t>(rows.size()) - 1};
  if (beside > 1) {
    kept[along] = rows[along] /= beside;
    rows.insert(rows.begin() + others.back() + 1, beside);
    of_row = {others.back() + 1, of_row[0] + 1};
  }
  const Expr wide = cast(reshape(x, rows), DType::float32), middle = mean(wide, {of_row, true});
  const Expr inner = reshape(middle, kept), spread = reshape(mean(square(wide - middle), {of_row, true}), kept);
  const Expr all = mean(inner, {others, true}), within = mean(spread, {others, true});
  const Expr between = mean(square(inner - all), {others, true});
  return {all, within + between};
}

// The mean square of x - k less the square of its mean, where k is the mean of a part of x.
Sums shifted_sums(const Expr& x, const Ints& axes) {
  const std::int64_t part = std::max<std::int64_t>(1, x.shape()[axes[0]] / kParts);
  const Expr k = mean(cast(slice(x, axes[0], 0, part), DType::float32), {axes, true});
  const Expr away = cast(x, DType::float32) - k, first = mean(away, {axes, true}), all = k + first;
  const Expr squares = mean(square(away), {axes, true}), of_mean = square(first);
  return {all, abs(squares - of_mean)};  // rounding may leave less than nothing
}

Sums sums_of(const Expr& x, const Ints& axes) {
  std::size_t first = axes.size();  // of the last dimensions
  while (first > 0 && axes[first - 1] == x.rank() - static_cast<std::int64_t>(axes.size() - first) - 1) --first;
  if (first == axes.size()) return shifted_sums(x, axes);
  if (first == 0) first = axes.size() - 1;
  const auto cut = axes.begin() + static_cast<std::ptrdiff_t>(first);
  return nested_sums(x, Ints(cut, axes.end()), Ints(axes.begin(), cut));
}

}  // namespace

Graph with_large_moments(const Graph& graph) {
  const SpreadFinder finder(graph);
  std::map<std::pair<Value, Ints>, std::optional<Sums>> wanted;  // by x of the old graph
  for (Value v = 0; v < graph.size(); ++v) {
    if (const auto s = finder.spread_of(v)) wanted[{s->x, s->axes}] = std::nullopt;
  }
  if (wanted.empty()) return graph;
  Value next = 0;
  const auto sums = [&](const Expr& x, const SpreadAlong& s) -> const Sums& {
    auto& made = wanted.at({s.x, s.axes});
    if (!made) made = sums_of(x, s.axes);
    return *made;
  };
  std::vector<Value> now(graph.size());  // by value of the old graph: that of the new one
  Graph out = rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    const Value v = next++;
    for (std::size_t i = 0; i < r.operands.size(); ++i) now[r.op.operands[i]] = r.operands[i];
    const auto shaped = [&](const Expr& e) { return reshape(cast(e, r.op.type.dtype), r.op.type.shape).value(); };
    if (const auto s = finder.spread_of(v)) {
      const Sums& made = sums(Expr(r.to, now[s->x]), *s);
      Expr variance = made.variance;
      const std::int64_t ddof = r.op.code == OpCode::variance ? r.op.integer("ddof") : 0;
      double n = 1;
      for (std::int64_t a : s->axes) n *= static_cast<double>(graph.type(s->x).shape[a]);
      if (ddof != 0) variance = variance * (n / std::max(0.0, n - static_cast<double>(ddof)));
      return shaped(variance);
    }
    if (r.op.code != OpCode::mean) return {};
    const auto of = wanted.find({r.op.operands[0], r.op.ints("axes")});
    if (of == wanted.end()) return {};
    const Sums& made = sums(r.operand(0), {r.op.operands[0], r.op.ints("axes")});
    return shaped(made.mean);
  });
  return without_dead_ops(out);
}

}  // namespace kiln::tensor
