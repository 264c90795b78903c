#include "kiln/tensor/ir/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {
namespace {

[[noreturn]] void refuse(const Rule& rule, std::string found) {
  raise(rules::kTable, rule, {.found = std::move(found)});
}

std::int64_t normal_axis(const Expr& x, std::int64_t axis, int rank) {
  const std::int64_t a = axis < 0 ? axis + rank : axis;
  if (a < 0 || a >= rank) refuse(rules::kAxis, fmt::format("axis {} of {}", axis, to_string(x.type())));
  return a;
}

Ints all_axes(const Expr& x, const Ints& axes) {
  Ints out;
  for (std::int64_t a : axes) out.push_back(normal_axis(x, a, x.rank()));
  if (axes.empty()) {
    out.resize(x.rank());
    std::iota(out.begin(), out.end(), 0);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// What a function is composed of comes from where it was called.
class Pinned {
 public:
  explicit Pinned(const Here& x) : graph_(x.graph()), was_(graph_.pinned) {
    if (!was_) graph_.at(SourceLoc{.file = x.at.file_name(), .line = static_cast<int>(x.at.line())});
    graph_.pinned = true;
  }
  ~Pinned() { graph_.pinned = was_; }

 private:
  Graph& graph_;
  bool was_;
};

Expr reduce(OpCode code, const Here& x, const Axes& axes) {
  return apply(code, {x}, {all_axes(x, axes.axes), axes.keepdims}, x.at);
}

}  // namespace

Expr apply(OpCode code, std::initializer_list<Expr> operands, Attrs attrs, At at) {
  const Expr* beside = nullptr;
  for (const Expr& e : operands) {
    if (!e.is_number()) beside = &e;
  }
  if (!beside) refuse(rules::kOperands, "an op of numbers alone");
  Graph& graph = beside->graph();
  if (!graph.pinned) graph.at(SourceLoc{.file = at.file_name(), .line = static_cast<int>(at.line())});
  std::vector<Value> values;
  for (const Expr& e : operands) values.push_back(e.is_number() ? weak(graph, e.number(), beside->dtype()) : e.value());
  return {graph, graph.add(code, std::move(values), std::move(attrs))};
}

Expr sum(const Here& x, Axes axes) { return reduce(OpCode::sum, x, axes); }
Expr prod(const Here& x, Axes axes) { return reduce(OpCode::prod, x, axes); }
Expr max(const Here& x, Axes axes) { return reduce(OpCode::max, x, axes); }
Expr min(const Here& x, Axes axes) { return reduce(OpCode::min, x, axes); }
Expr any(const Here& x, Axes axes) { return reduce(OpCode::any, x, axes); }
Expr all(const Here& x, Axes axes) { return reduce(OpCode::all, x, axes); }
Expr mean(const Here& x, Axes axes) { return reduce(OpCode::mean, x, axes); }
Expr variance(const Here& x, Axes axes, std::int64_t ddof) {
  return apply(OpCode::variance, {x}, {all_axes(x, axes.axes), axes.keepdims, ddof}, x.at);
}
Expr standard_deviation(const Here& x, Axes axes, std::int64_t ddof) {
  const Pinned here(x);
  return sqrt(variance(x, axes, ddof));
}
Expr argmax(const Here& x, std::int64_t axis, bool keepdims) {
  return apply(OpCode::argmax, {x}, {Ints{normal_axis(x, axis, x.rank())}, keepdims}, x.at);
}
Expr argmin(const Here& x, std::int64_t axis, bool keepdims) {
  return apply(OpCode::argmin, {x}, {Ints{normal_axis(x, axis, x.rank())}, keepdims}, x.at);
}
Expr cumsum(const Here& x, std::int64_t axis) {
  return apply(OpCode::cumsum, {x}, {normal_axis(x, axis, x.rank())}, x.at);
}
Expr logsumexp(const Here& x, Axes axes) {
  const Pinned here(x);
  const Expr m = max(x, {axes.axes, true});
  const Expr s = log(sum(exp(x - m), {axes.axes, true})) + m;
  return axes.keepdims ? s : max(s, {axes.axes, false});
}

Expr matmul(const Here& x, const Expr& y) { return apply(OpCode::matmul, {x, y}, {}, x.at); }

// Each operand becomes (batch, own, shared): the letters of the formula in that order, then one matmul.
Expr einsum(const std::string& formula, const Expr& x, const Expr& y) {
  const std::size_t comma = formula.find(','), arrow = formula.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    refuse(rules::kOperands, fmt::format("einsum `{}`", formula));
  const std::string xs = formula.substr(0, comma), ys = formula.substr(comma + 1, arrow - comma - 1);
  const std::string out = formula.substr(arrow + 2);
  const auto has = [](const std::string& text, char c) { return text.find(c) != std::string::npos; };
  std::string batch, left, right, shared;
  for (char c : out) {
    if (has(xs, c) && has(ys, c))
      batch += c;
    else if (has(xs, c))
      left += c;
    else if (has(ys, c))
      right += c;
    else
      refuse(rules::kOperands, fmt::format("einsum `{}`: {} is in no operand", formula, c));
  }
  for (char c : xs) {
    if (has(ys, c) && !has(out, c)) shared += c;
  }
  std::map<char, std::int64_t> extent;
  const auto turn = [&](const Expr& e, const std::string& letters, const std::string& order) {
    if (letters.size() != static_cast<std::size_t>(e.rank()) || letters.size() != order.size())
      refuse(rules::kOperands, fmt::format("einsum `{}` of {}", formula, to_string(e.type())));
    for (std::size_t i = 0; i < letters.size(); ++i) extent[letters[i]] = e.shape()[i];
    Ints perm;
    for (char c : order) perm.push_back(static_cast<std::int64_t>(letters.find(c)));
    return transpose(e, perm);
  };
  const auto size = [&](const std::string& letters) {
    std::int64_t n = 1;
    for (char c : letters) n *= extent[c];
    return n;
  };
  const Expr a = turn(x, xs, batch + left + shared), b = turn(y, ys, batch + shared + right);
  const Expr c =
      matmul(reshape(a, {size(batch), size(left), size(shared)}), reshape(b, {size(batch), size(shared), size(right)}));
  const std::string order = batch + left + right;
  Shape shape;
  Ints perm;
  for (char l : order) shape.push_back(extent[l]);
  for (char l : out) perm.push_back(static_cast<std::int64_t>(order.find(l)));
  return transpose(reshape(c, shape), perm);
}

Expr where(const Here& condition, const Expr& x, const Expr& y) {
  const Expr& tensor = x.is_number() ? y : x;
  if (tensor.is_number()) refuse(rules::kOperands, "where between two numbers");
  Graph& graph = tensor.graph();
  const auto value = [&](const Expr& e) {
    return e.is_number() ? Expr(graph, weak(graph, e.number(), tensor.dtype())) : e;
  };
  return apply(OpCode::where, {condition, value(x), value(y)}, {}, condition.at);
}

Expr clip(const Here& x, std::optional<double> low, std::optional<double> high) {
  const Pinned here(x);
  const auto number = [&](double v) { return is_float(x.dtype()) ? Expr(v) : Expr(static_cast<std::int64_t>(v)); };
  Expr out = x;
  if (low) out = maximum(out, number(*low));
  if (high) out = minimum(out, number(*high));
  return out;
}

Expr cast(const Here& x, DType dtype) { return x.dtype() == dtype ? Expr(x) : apply(OpCode::cast, {x}, {dtype}, x.at); }
Expr bitcast(const Here& x, DType dtype) { return apply(OpCode::bitcast, {x}, {dtype}, x.at); }

Expr reshape(const Here& x, Shape shape) {
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& n : shape) (n == -1 && !open) ? open = &n : &(known *= n);
  if (open) *open = known ? x.type().size() / known : 0;
  return shape == x.shape() ? Expr(x) : apply(OpCode::reshape, {x}, {std::move(shape)}, x.at);
}

Expr transpose(const Here& x, Ints perm) {
  if (perm.empty()) {
    if (x.rank() < 2) return x;
    perm.resize(x.rank());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  }
  for (std::int64_t& p : perm) p = normal_axis(x, p, x.rank());
  return std::is_sorted(perm.begin(), perm.end()) ? Expr(x) : apply(OpCode::transpose, {x}, {std::move(perm)}, x.at);
}

Expr broadcast_to(const Here& x, Shape shape) {
  return shape == x.shape() ? Expr(x) : apply(OpCode::broadcast_to, {x}, {std::move(shape)}, x.at);
}

Expr expand_dims(const Here& x, std::int64_t axis) {
  const Pinned here(x);
  Shape shape = x.shape();
  shape.insert(shape.begin() + normal_axis(x, axis, x.rank() + 1), 1);
  return reshape(x, std::move(shape));
}

Expr slice(const Here& x, std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
           std::int64_t step) {
  const std::int64_t a = normal_axis(x, axis, x.rank()), n = x.shape()[a];
  if (step == 0) refuse(rules::kSlice, "step 0");
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](std::optional<std::int64_t> at, std::int64_t otherwise) {
    return at ? std::clamp(*at < 0 ? *at + n : *at, low, high) : otherwise;
  };
  const std::int64_t first = bound(start, step > 0 ? low : high), end = bound(stop, step > 0 ? high : low);
  const std::int64_t away = step > 0 ? end - first : first - end, stride = std::abs(step);
  Ints starts(x.rank(), 0), sizes = x.shape(), steps(x.rank(), 1);
  sizes[a] = away > 0 ? (away + stride - 1) / stride : 0;
  starts[a] = sizes[a] ? first : 0;
  steps[a] = step;
  return apply(OpCode::slice, {x}, {std::move(starts), std::move(sizes), std::move(steps)}, x.at);
}

Expr concat(const std::vector<Expr>& parts, std::int64_t axis) {
  if (parts.empty()) refuse(rules::kOperands, "nothing to join");
  Graph& graph = parts[0].graph();
  std::vector<Value> values;
  for (const Expr& e : parts) values.push_back(e.value());
  return {graph, graph.add(OpCode::concat, std::move(values), {normal_axis(parts[0], axis, parts[0].rank())})};
}

Expr stack(const std::vector<Expr>& parts, std::int64_t axis) {
  if (parts.empty()) refuse(rules::kOperands, "nothing to join");
  const std::int64_t a = normal_axis(parts[0], axis, parts[0].rank() + 1);
  std::vector<Expr> wider;
  for (const Expr& e : parts) wider.push_back(expand_dims(e, a));
  return concat(wider, a);
}

std::vector<Expr> split(const Here& x, std::int64_t parts, std::int64_t axis) {
  const Pinned here(x);
  const std::int64_t n = x.shape()[normal_axis(x, axis, x.rank())];
  if (parts <= 0 || n % parts != 0) refuse(rules::kSlice, fmt::format("{} in {} parts", n, parts));
  std::vector<Expr> out;
  for (std::int64_t i = 0; i < parts; ++i) out.push_back(slice(x, axis, i * (n / parts), (i + 1) * (n / parts)));
  return out;
}

Expr pad(const Here& x, Ints low, Ints high, double value) {
  return apply(OpCode::pad, {x}, {std::move(low), std::move(high), value}, x.at);
}

namespace {

// Where the column is at most `k` beyond the row.
Expr lower_part(const Here& x, std::int64_t k) {
  if (x.rank() < 2) refuse(rules::kAxis, fmt::format("a triangle of {}", to_string(x.type())));
  const Shape square(x.shape().end() - 2, x.shape().end());
  Graph& graph = x.graph();
  const Expr rows(graph, graph.iota({DType::int32, square}, 0)), columns(graph, graph.iota({DType::int32, square}, 1));
  return columns <= rows + k;
}

}  // namespace

Expr tril(const Here& x, std::int64_t k) {
  const Pinned here(x);
  return where(lower_part(x, k), x, 0);
}
Expr triu(const Here& x, std::int64_t k) {
  const Pinned here(x);
  return where(lower_part(x, k - 1), 0, x);
}

Expr gather_rows(const Here& table, const Expr& indices) {
  return apply(OpCode::gather_rows, {table, indices}, {}, table.at);
}
Expr scatter_rows(const Here& table, const Expr& indices, const Expr& rows) {
  return apply(OpCode::scatter_rows, {table, indices, rows}, {}, table.at);
}
Expr dynamic_slice(const Here& x, const Expr& start, std::int64_t axis, std::int64_t size) {
  return apply(OpCode::dynamic_slice, {x, start}, {normal_axis(x, axis, x.rank()), size}, x.at);
}
Expr update_slice(const Here& x, const Expr& part, const Expr& start, std::int64_t axis) {
  return apply(OpCode::update_slice, {x, part, start}, {normal_axis(x, axis, x.rank())}, x.at);
}

Expr softmax(const Here& x, std::int64_t axis) {
  const Pinned here(x);
  const Expr e = exp(x - max(x, {{axis}, true}));
  return e / sum(e, {{axis}, true});
}

Expr rms_norm(const Here& x, const Expr& gain, double epsilon) {
  const Pinned here(x);
  return x * rsqrt(mean(square(x), {{-1}, true}) + epsilon) * gain;
}

Expr layer_norm(const Here& x, const Expr& gain, const Expr& bias, double epsilon) {
  const Pinned here(x);
  const Expr centred = x - mean(x, {{-1}, true});
  return centred * rsqrt(mean(square(centred), {{-1}, true}) + epsilon) * gain + bias;
}

}  // namespace kiln::tensor
