// Borders, flips, repetitions and diagonals as views and joins.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {
namespace {

std::int64_t modulo(std::int64_t x, std::int64_t n) { return ((x % n) + n) % n; }

// `count` elements along an axis from `first` on, `step` (1, 0 or -1) apart.
Expr run_of(const Expr& x, std::int64_t axis, std::int64_t first, std::int64_t count, std::int64_t step) {
  if (step == 0) {
    Shape shape = x.shape();
    shape[axis] = count;
    return broadcast_to(slice(x, axis, first, first + 1), shape);
  }
  if (step > 0) return slice(x, axis, first, first + count);
  const std::int64_t last = first - count;
  return slice(x, axis, first, last < 0 ? std::nullopt : std::optional(last), -1);
}

// Elements by indices that are known, run by run.
std::vector<Expr> runs_of(const Expr& x, std::int64_t axis, const Ints& at) {
  std::vector<Expr> parts;
  for (std::size_t i = 0; i < at.size();) {
    const std::int64_t step = i + 1 < at.size() ? at[i + 1] - at[i] : 1;
    std::size_t end = i + 1;
    if (step >= -1 && step <= 1) {
      while (end < at.size() && at[end] - at[end - 1] == step) ++end;
    }
    const auto count = static_cast<std::int64_t>(end - i);
    parts.push_back(run_of(x, axis, at[i], count, count == 1 ? 1 : step));
    i = end;
  }
  return parts;
}
Expr picked(const Expr& x, std::int64_t axis, const Ints& at) {
  const std::vector<Expr> parts = runs_of(x, axis, at);
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

Expr flipped(const Expr& x, const Ints& axes) {
  Ints starts(x.rank(), 0), steps(x.rank(), 1);
  for (std::int64_t a : axes) {
    starts[a] = x.shape()[a] - 1;
    steps[a] = -1;
  }
  return {x.graph(), x.graph().add(OpCode::slice, {x.value()}, {starts, x.shape(), steps})};
}

// Both parts along an axis, each rolled along the other axes.
Expr rolled(const Expr& x, const Ints& shifts, const Ints& axes, std::size_t i = 0) {
  if (i == axes.size()) return x;
  const std::int64_t n = x.shape()[axes[i]], first = modulo(-shifts[i], n);
  if (first == 0) return rolled(x, shifts, axes, i + 1);
  const Expr back = slice(x, axes[i], first, n), front = slice(x, axes[i], 0, first);
  return concat({rolled(back, shifts, axes, i + 1), rolled(front, shifts, axes, i + 1)}, axes[i]);
}

Expr roll_of(const Rewriting& r) {
  Ints shifts, axes;  // each axis once
  for (std::size_t i = 0; i < r.op.ints("axes").size(); ++i) {
    const auto at = std::find(axes.begin(), axes.end(), r.op.ints("axes")[i]);
    if (at == axes.end()) {
      axes.push_back(r.op.ints("axes")[i]);
      shifts.push_back(r.op.ints("shifts")[i]);
    } else {
      shifts[at - axes.begin()] += r.op.ints("shifts")[i];
    }
  }
  return rolled(r.operand(0), shifts, axes);
}

Expr tiled(const Rewriting& r) {
  const Expr x = r.operand(0);
  Ints counts = r.op.ints("counts");
  Shape shape = x.shape();
  while (shape.size() < counts.size()) shape.insert(shape.begin(), 1);
  while (counts.size() < shape.size()) counts.insert(counts.begin(), 1);
  Shape apart, spread;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (counts[d] != 1) {
      apart.push_back(1);
      spread.push_back(counts[d]);
    }
    apart.push_back(shape[d]);
    spread.push_back(shape[d]);
  }
  return reshape(broadcast_to(reshape(x, apart), spread), r.op.type.shape);
}

Expr repeated(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t axis = r.op.integer("axis"), n = x.shape()[axis];
  const Ints& counts = r.op.ints("counts");
  if (counts.size() == 1) {
    Shape spread = x.shape();
    spread.insert(spread.begin() + axis + 1, counts[0]);
    return reshape(broadcast_to(expand_dims(x, axis + 1), spread), r.op.type.shape);
  }
  Ints at;
  for (std::int64_t i = 0; i < n; ++i) at.insert(at.end(), static_cast<std::size_t>(counts[i]), i);
  return picked(x, axis, at);
}

// Which elements a border repeats: at the positions -low .. -1 and n .. n + high - 1.
Ints repeated_places(const std::string& mode, std::int64_t n, std::int64_t first, std::int64_t count) {
  Ints out;
  for (std::int64_t i = first; i < first + count; ++i) {
    if (mode == "edge") {
      out.push_back(std::clamp<std::int64_t>(i, 0, n - 1));
    } else if (mode == "wrap") {
      out.push_back(modulo(i, n));
    } else {
      const std::int64_t period = mode == "reflect" ? std::max<std::int64_t>(1, 2 * (n - 1)) : 2 * n;
      const std::int64_t at = modulo(i, period);
      out.push_back(at < n ? at : mode == "reflect" ? period - at : period - 1 - at);
    }
  }
  return out;
}

// From nothing outside to the edge.
Expr ramp(const Expr& x, std::int64_t axis, std::int64_t width, bool high) {
  Shape line(x.rank(), 1);
  line[axis] = width;
  std::vector<double> part;
  for (std::int64_t i = 0; i < width; ++i)
    part.push_back(static_cast<double>(high ? width - 1 - i : i) / static_cast<double>(width));
  Graph& g = x.graph();
  const std::int64_t n = x.shape()[axis];
  const Expr edge = high ? slice(x, axis, n - 1, n) : slice(x, axis, 0, 1);
  const Expr out = cast(edge, DType::float32) * Expr(g, g.constant({DType::float32, line}, part));
  return cast(is_float(x.dtype()) ? out : floor(out + 1e-4), x.dtype());
}

Expr with_border(const Expr& x, std::int64_t axis, const std::string& mode, std::int64_t low, std::int64_t high) {
  const auto border = [&](std::int64_t count, bool is_high) {
    Shape shape = x.shape();
    shape[axis] = count;
    if (mode == "maximum") return broadcast_to(max(x, {{axis}, true}), shape);
    if (mode == "minimum") return broadcast_to(min(x, {{axis}, true}), shape);
    if (mode == "linear_ramp") return ramp(x, axis, count, is_high);
    const Expr middle = mean(cast(x, DType::float32), {{axis}, true});
    return broadcast_to(cast(is_float(x.dtype()) ? middle : rint(middle), x.dtype()), shape);
  };
  std::vector<Expr> parts;
  if (low > 0) parts.push_back(border(low, false));
  parts.push_back(x);
  if (high > 0) parts.push_back(border(high, true));
  return parts.size() == 1 ? x : concat(parts, axis);
}

// Repeated elements: all parts along an axis, each with its border along the axes behind it.
Expr with_repeats(const Rewriting& r, const Expr& x, std::int64_t axis) {
  if (axis == x.rank()) return x;
  const std::string& mode = r.op.text("mode");
  const std::int64_t n = x.shape()[axis], low = r.op.ints("low")[axis], high = r.op.ints("high")[axis];
  std::vector<Expr> parts;
  if (low > 0) parts = runs_of(x, axis, repeated_places(mode, n, -low, low));
  parts.push_back(x);
  if (high > 0) {
    for (const Expr& e : runs_of(x, axis, repeated_places(mode, n, n, high))) parts.push_back(e);
  }
  for (Expr& e : parts) e = with_repeats(r, e, axis + 1);
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

// Each turn of a repetition is a part of its own, and each element of a border is looked at.
void require_few_parts(const Rewriting& r) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 22, kMostTurns = 4096;
  const std::string& mode = r.op.text("mode");
  const Shape& x = r.from.type(r.op.operands[0]).shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::int64_t border = std::max(r.op.ints("low")[d], r.op.ints("high")[d]);
    const std::int64_t most = mode == "edge" ? kMostElements : std::min(kMostElements, kMostTurns * x[d]);
    if (mode == "maximum" || mode == "minimum" || mode == "mean" || border <= most) continue;
    raise(rules::kTable, rules::kNotYet,
          {.found = fmt::format("not yet: a border of {} elements in mode {}, of {}", border, mode, x[d]),
           .allowed = fmt::format("at most {}", most),
           .help = "repeat or tile the tensor, or make the border in several steps",
           .loc = r.from.loc(r.op),
           .category = Category::not_yet});
  }
}

Expr border_of(const Rewriting& r) {
  require_few_parts(r);
  const std::string& mode = r.op.text("mode");
  if (mode == "edge" || mode == "reflect" || mode == "symmetric" || mode == "wrap")
    return with_repeats(r, r.operand(0), 0);
  Expr x = r.operand(0);
  for (std::int64_t d = 0; d < x.rank(); ++d) x = with_border(x, d, mode, r.op.ints("low")[d], r.op.ints("high")[d]);
  return x;
}

Expr diagonal_of(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t i = r.op.integer("axis1"), j = r.op.integer("axis2"), k = r.op.integer("offset");
  Ints perm;
  Shape shape;
  for (std::int64_t d = 0; d < x.rank(); ++d) {
    if (d == i || d == j) continue;
    perm.push_back(d);
    shape.push_back(x.shape()[d]);
  }
  perm.insert(perm.end(), {i, j});
  const std::int64_t rows = x.shape()[i], columns = x.shape()[j];
  const std::int64_t n =
      std::max<std::int64_t>(0, std::min(rows - std::max<std::int64_t>(0, -k), columns - std::max<std::int64_t>(0, k)));
  Shape result = shape;
  result.push_back(n);
  if (product(result) == 0) return {r.to, r.to.constant({x.dtype(), result}, {0})};
  shape.push_back(rows * columns);
  Ints starts(shape.size(), 0), steps(shape.size(), 1);
  starts.back() = k >= 0 ? k : -k * columns;
  steps.back() = columns + 1;
  const Expr flat = reshape(transpose(x, perm), shape);
  return {r.to, r.to.add(OpCode::slice, {flat.value()}, {starts, result, steps})};
}

Expr diag_matrix_of(const Rewriting& r) {
  Expr x = r.operand(0);
  const std::int64_t k = r.op.integer("offset"), n = r.op.type.shape.back();
  if (k != 0) {
    Ints low(x.rank(), 0), high(x.rank(), 0);
    high.back() = std::abs(k);
    x = pad(x, low, high);
  }
  const Shape square{n, n};
  const Expr rows(r.to, r.to.iota({DType::int32, square}, 0)), columns(r.to, r.to.iota({DType::int32, square}, 1));
  const Expr line = expand_dims(x, k >= 0 ? -1 : -2), none(r.to, r.to.constant({x.dtype(), {}}, {0}));
  return where(equal(columns, rows + k), broadcast_to(line, r.op.type.shape), none);
}

}  // namespace

std::optional<Value> expanded_move(const Rewriting& r) {
  switch (r.op.code) {
    case OpCode::flip:
      return r.op.ints("axes").empty() ? r.operands[0] : flipped(r.operand(0), r.op.ints("axes")).value();
    case OpCode::roll:
      return roll_of(r).value();
    case OpCode::tile:
      return tiled(r).value();
    case OpCode::repeat:
      return repeated(r).value();
    case OpCode::pad_with:
      return border_of(r).value();
    case OpCode::diagonal:
      return diagonal_of(r).value();
    case OpCode::diag_matrix:
      return diag_matrix_of(r).value();
    case OpCode::trace:
      return reshape(sum(diagonal_of(r), {{-1}, false}), r.op.type.shape).value();
    default:
      return {};
  }
}

}  // namespace kiln::tensor
