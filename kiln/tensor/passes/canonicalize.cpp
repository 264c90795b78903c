#include "kiln/tensor/passes/canonicalize.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/ir/evaluate.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/passes/activations.h"
#include "kiln/tensor/passes/band.h"
#include "kiln/tensor/passes/chosen_matrices.h"
#include "kiln/tensor/passes/few_queries_together.h"
#include "kiln/tensor/passes/masks.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kFoldUpTo = 4096;  // elements: larger constants are made on the chip

bool has_results(const Op& op) { return !op.bodies.empty() || op.kernel || op.code == OpCode::result; }

bool same(const Op& a, const Op& b) {
  if (a.bodies != b.bodies || a.kernel != b.kernel) return false;
  if (a.code != b.code || a.operands != b.operands || !(a.type == b.type) || a.attrs != b.attrs) return false;
  if (!a.numbers || !b.numbers || a.numbers == b.numbers) return true;
  return a.numbers->size() == b.numbers->size() &&
         std::equal(a.numbers->begin(), a.numbers->end(), b.numbers->begin(), [](double x, double y) {
           return std::signbit(x) == std::signbit(y) && (x == y || (x != x && y != y));
         });
}

// Equal ops by a cheap key; `same` decides.
class Seen {
 public:
  std::optional<Value> find(const Graph& graph, const Op& op) const {
    const auto [first, last] = values_.equal_range(key(op));
    for (auto it = first; it != last; ++it) {
      if (same(graph.op(it->second), op)) return it->second;
    }
    return {};
  }
  void add(const Op& op, Value v) { values_.emplace(key(op), v); }

 private:
  static std::size_t key(const Op& op) {
    std::size_t k = static_cast<std::size_t>(op.code);
    for (Value v : op.operands) k = k * 1000003 + v;
    return k * 31 + static_cast<std::size_t>(op.type.size());
  }
  std::multimap<std::size_t, Value> values_;
};

std::optional<Value> folded(const Rewriting& r) {
  if (r.operands.empty() || r.op.type.size() > kFoldUpTo || has_results(r.op) || is_collective(r.op.code)) return {};
  std::vector<Array> arrays;
  bool splat = is_elementwise(r.op.code) || r.op.code == OpCode::cast;
  for (Value v : r.operands) {
    const Op& op = r.to.op(v);
    if (op.code != OpCode::constant || op.type.size() > kFoldUpTo) return {};
    splat = splat && op.is_splat();
  }
  for (Value v : r.operands) arrays.push_back(evaluate(r.to.op(v), {}, r.to.type(v).dtype));
  std::vector<const Array*> in;
  for (const Array& a : arrays) in.push_back(&a);
  Op op = r.op;
  op.operands = r.operands;
  Array out = evaluate(op, in, is_elementwise(op.code) ? working_dtype(r.to, op) : op.type.dtype);
  if (splat && out.data.size() > 1) out.data.assign(1, out.data.front());
  return r.to.constant(out.type, std::move(out.data));
}

// Ops whose result is the first operand where nothing else is given.
bool is_update(OpCode code) {
  return code == OpCode::scatter_rows || code == OpCode::update_slice || code == OpCode::scatter ||
         code == OpCode::scatter_nd || code == OpCode::put_along_axis;
}

// Nothing to compute: no elements, or sums and products over none.
std::optional<Value> folded_empty(const Rewriting& r) {
  if (r.op.code == OpCode::constant || has_results(r.op)) return {};
  if (r.op.type.size() == 0) return r.to.constant(r.op.type, std::vector<double>(1, 0.0));
  const bool empty =
      std::any_of(r.operands.begin(), r.operands.end(), [&](Value v) { return r.to.type(v).size() == 0; });
  if (!empty || r.op.code == OpCode::concat || r.op.code == OpCode::pad) return {};
  if (is_update(r.op.code)) return r.operands[0];
  // One element of a sum or product says what all of them are; there may be more than memory holds.
  const auto& attributes = info(r.op.code).attributes;
  const bool one_is_enough =
      is_product(r.op.code) || std::ranges::any_of(attributes, [](const AttrInfo& a) { return a.name == "keepdims"; });
  const auto least = [&](Type type) {
    for (std::int64_t& n : type.shape) n = one_is_enough ? std::min<std::int64_t>(n, 1) : n;
    return type;
  };
  Op op = r.op;
  op.type = least(op.type);
  std::vector<Array> arrays;
  for (Value v : r.operands) {
    const Type type = least(r.to.type(v));
    arrays.push_back({type, std::vector<double>(type.size())});
  }
  std::vector<const Array*> in;
  for (const Array& a : arrays) in.push_back(&a);
  return r.to.constant(r.op.type, {evaluate(op, in, op.type.dtype).data.at(0)});
}

// A choice that is made.
std::optional<Value> made_choice(const Rewriting& r) {
  if (r.op.code != OpCode::where) return {};
  const auto chosen = splat_of(r.to, r.operands[0]);
  if (!chosen) return {};
  return broadcast_to(cast(r.operand(*chosen != 0 ? 1 : 2), r.op.type.dtype), r.op.type.shape).value();
}

// Rows of a table that is one number.
std::optional<Value> rows_of_number(const Rewriting& r) {
  if (r.op.code != OpCode::gather_rows) return {};
  const auto number = splat_of(r.to, r.operands[0]);
  return number ? std::optional(r.to.constant(r.op.type, {*number})) : std::nullopt;
}

std::optional<Value> simpler_view(const Rewriting& r) {
  if (!is_view(r.op.code)) return {};
  const Op x = r.operand_op(0);  // a copy: adding ops moves them
  if (r.op.type == x.type && (r.op.code == OpCode::reshape || r.op.code == OpCode::broadcast_to)) return r.operands[0];
  if (r.op.code == OpCode::transpose) {
    const Ints& perm = r.op.ints("perm");
    if (std::is_sorted(perm.begin(), perm.end())) return r.operands[0];
    if (x.code == OpCode::transpose) {
      Ints both;
      for (std::int64_t p : perm) both.push_back(x.ints("perm")[p]);
      return transpose(Expr(r.to, x.operands[0]), both).value();
    }
  }
  if (r.op.code == OpCode::reshape && x.code == OpCode::reshape)
    return reshape(Expr(r.to, x.operands[0]), r.op.type.shape).value();
  if (r.op.code == OpCode::slice && r.op.type == x.type) {
    const auto &starts = r.op.ints("starts"), &steps = r.op.ints("steps");
    const bool all = std::all_of(starts.begin(), starts.end(), [](auto s) { return s == 0; }) &&
                     std::all_of(steps.begin(), steps.end(), [](auto s) { return s == 1; });
    if (all) return r.operands[0];
  }
  return {};
}

bool is_number(const Rewriting& r, std::size_t i, double x) {
  const auto n = splat_of(r.to, r.operands[i]);
  return n && *n == x;
}

// 1 / sqrt(x), 1 / (1 + e^-x), x * sigmoid(x), x * x.
std::optional<Value> recomposed(const Rewriting& r) {
  Graph& g = r.to;
  if (r.op.code == OpCode::divide && is_float(r.op.type.dtype)) {
    const Op& below = r.operand_op(1);
    if (is_number(r, 0, 1) && below.code == OpCode::sqrt && below.type == r.op.type)
      return g.add(OpCode::rsqrt, {below.operands[0]});
    if (below.code == OpCode::add && below.type == r.op.type) {
      for (int i : {0, 1}) {
        const Op& e = g.op(below.operands[i]);
        const auto one = splat_of(g, below.operands[1 - i]);
        if (!one || *one != 1 || e.code != OpCode::exp || !(e.type == r.op.type)) continue;
        const Op& n = g.op(e.operands[0]);
        if (n.code != OpCode::negative) continue;
        if (is_number(r, 0, 1)) return g.add(OpCode::sigmoid, {n.operands[0]});
        if (r.operands[0] == n.operands[0]) return g.add(OpCode::silu, {n.operands[0]});
      }
    }
  }
  if (r.op.code == OpCode::multiply && is_float(r.op.type.dtype)) {
    if (r.operands[0] == r.operands[1]) return g.add(OpCode::square, {r.operands[0]});
    for (int i : {0, 1}) {
      const Op& s = g.op(r.operands[i]);
      if (s.code == OpCode::sigmoid && s.operands[0] == r.operands[1 - i])
        return g.add(OpCode::silu, {r.operands[1 - i]});
    }
  }
  return {};
}

// A reduction of dimensions that have one element each: the element.
std::optional<Value> of_one_element(const Rewriting& r) {
  const OpCode code = r.op.code;
  if (code != OpCode::sum && code != OpCode::prod && code != OpCode::mean && code != OpCode::max && code != OpCode::min)
    return {};
  const Expr x = r.operand(0);
  if (x.type().size() != r.op.type.size() || r.op.type.size() == 0) return {};
  return reshape(cast(x, r.op.type.dtype), r.op.type.shape).value();
}

// max(x * c) is max(x) * c for c > 0: rounding is monotonic, so the value is the same, and exp can take the scale. Not
// where the value is compared: x in PSUM is not rounded yet.
std::optional<Value> scaled_extreme(const Rewriting& r, const std::vector<Value>& users) {
  if (r.op.code != OpCode::max && r.op.code != OpCode::min) return {};
  const bool is_compared =
      std::any_of(users.begin(), users.end(), [&](Value u) { return is_comparison(r.from.op(u).code); });
  if (is_compared && size_bytes(r.op.type.dtype) < 4) return {};
  const Op x = r.operand_op(0);  // a copy: adding ops moves them
  if (x.code != OpCode::multiply || !is_float(x.type.dtype)) return {};
  for (int i : {0, 1}) {
    const auto c = splat_of(r.to, x.operands[i]);
    if (!c || !(*c > 0) || !(r.to.type(x.operands[1 - i]) == x.type)) continue;
    const Value m = r.to.add(r.op.code, {x.operands[1 - i]}, r.op.attrs);
    const Value scale = r.to.constant({x.type.dtype, {}}, {*c});
    return r.to.add(OpCode::multiply, {m, scale});
  }
  return {};
}

// The same of few rows: those that meet one matrix are rows of one product.
std::optional<Value> few_rows_of_groups(const Rewriting& r, const Op& wide, bool swapped) {
  constexpr std::int64_t kMostRows = 32, kLong = 512;
  const Shape a = wide.type.shape, x = r.to.type(r.operands[0]).shape, before = r.to.type(wide.operands[0]).shape;
  if (a.size() != 4 || before != Shape{a[0], 1, a[2], a[3]} || std::max(a[2], a[3]) < kLong) return {};
  if (a[1] == 1 || a[1] * x[x.size() - 2] > kMostRows) return {};
  const Expr right = reshape(Expr(r.to, wide.operands[0]), {a[0], a[2], a[3]});
  const Expr left = reshape(Expr(r.to, r.operands[0]), {a[0], a[1] * x[x.size() - 2], x.back()});
  return reshape(matmul(left, swapped ? transpose(right) : right), r.op.type.shape).value();
}

// x y where y repeats batches, written as a broadcast whose batches are then joined: the batches stay apart, so that y
// is an access function and not a copy.
std::optional<Value> grouped_product(const Rewriting& r) {
  if (r.op.code != OpCode::matmul) return {};
  Op y = r.operand_op(1);  // copies: adding ops moves them
  bool swapped = false;
  if (y.code == OpCode::transpose) {
    Ints perm = y.ints("perm");
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    if (!std::is_sorted(perm.begin(), perm.end())) return {};
    swapped = true;
    y = Op(r.to.op(y.operands[0]));
  }
  if (y.code != OpCode::reshape || y.type.rank() < 3) return {};
  const Op wide = r.to.op(y.operands[0]);
  const Type x = r.to.type(r.operands[0]);
  const Shape &a = wide.type.shape, &b = y.type.shape;
  if (wide.code != OpCode::broadcast_to || a.size() <= b.size() || x.rank() != y.type.rank()) return {};
  if (a[a.size() - 1] != b[b.size() - 1] || a[a.size() - 2] != b[b.size() - 2]) return {};
  if (tensor::product(x.shape, 0, x.shape.size() - 2) != tensor::product(b, 0, b.size() - 2)) return {};
  if (const auto v = few_rows_of_groups(r, wide, swapped)) return v;
  Shape rows(a.begin(), a.end() - 2);
  rows.insert(rows.end(), x.shape.end() - 2, x.shape.end());
  const Expr right(r.to, y.operands[0]);
  const Expr out = matmul(reshape(Expr(r.to, r.operands[0]), rows), swapped ? transpose(right) : right);
  return reshape(out, r.op.type.shape).value();
}

// One row (x * r) * g as (x * g) * r, where r is one number: x * g waits for no sum of the row.
std::optional<Value> row_before_factor(Graph& graph, Value v) {
  const Op gained = graph.op(v);  // copies: adding ops moves them
  if (gained.code != OpCode::multiply || gained.type.rank() < 2 || gained.type.size() != gained.type.shape.back())
    return {};
  for (int i : {0, 1}) {
    const Op scaled = graph.op(gained.operands[i]);
    if (scaled.code != OpCode::multiply || !(scaled.type == gained.type)) continue;
    for (int j : {0, 1}) {
      const Value data = scaled.operands[j], by = scaled.operands[1 - j], gain = gained.operands[1 - i];
      if (!(graph.type(data) == gained.type) || graph.type(by).size() != 1 || graph.type(by).rank() != 2) continue;
      if (graph.type(gain).dtype != gained.type.dtype || graph.type(gain).size() == 1) continue;
      return graph.add(OpCode::multiply, {graph.add(OpCode::multiply, {data, gain}), by});
    }
  }
  return {};
}

constexpr std::int64_t kMostValues = 128;  // elements of a value that attention takes along with its sums

// Whether v is a softmax: exponentials times a factor.
bool is_of_exponentials(const Graph& graph, Value v) {
  const Op& op = graph.op(v);
  return op.code == OpCode::multiply && std::any_of(op.operands.begin(), op.operands.end(), [&](Value x) {
           while (graph.op(x).code == OpCode::cast) x = graph.op(x).operands[0];
           return graph.op(x).code == OpCode::exp;
         });
}

// (x * r) y is (x y) * r for one r per row: fewer elements to scale when y has fewer columns than rows, and what
// attention wants. Rows may have been taken apart before the product.
std::optional<Value> scaled_product(const Rewriting& r) {
  if (r.op.code != OpCode::matmul) return {};
  Value v = r.operands[0];
  const Shape rows = r.to.type(v).shape;
  if (const Op& view = r.to.op(v); view.code == OpCode::reshape && view.type.rank() >= 2 &&
                                   r.to.type(view.operands[0]).rank() >= 2 &&
                                   r.to.type(view.operands[0]).shape.back() == rows.back())
    v = view.operands[0];
  if (r.to.op(v).code == OpCode::cast && is_float(r.to.type(r.to.op(v).operands[0]).dtype)) v = r.to.op(v).operands[0];
  v = row_before_factor(r.to, v).value_or(v);
  const Op x = r.to.op(v);  // a copy: adding ops moves them
  if (x.code != OpCode::multiply || x.type.rank() < 2) return {};
  const Shape y = r.to.type(r.operands[1]).shape;
  if (y.size() < 2 || (y.back() >= y[y.size() - 2] && !(is_of_exponentials(r.to, v) && y.back() <= kMostValues)))
    return {};
  for (int i : {0, 1}) {
    const Type data = r.to.type(x.operands[i]), scale = r.to.type(x.operands[1 - i]);
    if (!is_float(data.dtype) || data.shape != x.type.shape || scale.shape.size() != data.shape.size() ||
        scale.shape.back() != 1)
      continue;
    const bool split = rows != data.shape;
    Shape one = rows;
    one.back() = 1;
    if (split && tensor::product(scale.shape) != tensor::product(one)) continue;
    Expr left = cast(Expr(r.to, x.operands[i]), r.to.type(r.operands[0]).dtype), by(r.to, x.operands[1 - i]);
    if (split) left = reshape(left, rows), by = reshape(by, one);
    const Expr product = matmul(left, Expr(r.to, r.operands[1]));
    if (product.rank() != by.rank()) continue;
    return cast(product * by, r.op.type.dtype).value();
  }
  return {};
}

using Users = std::vector<std::vector<Value>>;

bool swaps_both(const Op& op) {
  return op.code == OpCode::transpose && op.type.rank() == 2 && op.ints("perm") == Ints{1, 0};
}

// Whether v, or v times something, or either transposed, is the second operand of products, and nothing else.
bool is_matrix_alone(const Graph& graph, const Users& users, const std::vector<int>& uses, Value v) {
  return uses[v] > 0 && uses[v] == static_cast<int>(users[v].size()) && std::ranges::all_of(users[v], [&](Value u) {
           const Op& op = graph.op(u);
           if (is_product(op.code)) return op.operands.size() == 2 && op.operands[0] != v;
           return (op.code == OpCode::multiply || swaps_both(op)) && op.type.rank() == 2 &&
                  is_matrix_alone(graph, users, uses, u);
         });
}

// A given matrix of 8-bit integers that is turned and then converted, for products: converted first, which DMAs do.
std::optional<Value> turned_after_cast(const Rewriting& r, const Users& users, const std::vector<int>& uses) {
  if (r.op.code != OpCode::cast || !is_float(r.op.type.dtype)) return {};
  const Op& view = r.operand_op(0);
  if (!swaps_both(view) || !is_integer(view.type.dtype) || size_bytes(view.type.dtype) != 1) return {};
  if (r.to.op(view.operands[0]).code != OpCode::input) return {};
  if (!is_matrix_alone(r.from, users, uses, static_cast<Value>(&r.op - r.from.ops().data()))) return {};
  return transpose(cast(Expr(r.to, view.operands[0]), r.op.type.dtype)).value();
}

// x (w * s) is (x w) * s for one s per column of a given w, such as weights of 8 bits: w goes into the product as it is
// given, and only the result is scaled. w may be turned, before or behind the factor.
std::optional<Value> scaled_columns(const Rewriting& r, const std::vector<int>& uses) {
  if (r.op.code != OpCode::matmul || uses[r.op.operands[1]] != 1) return {};
  Op y = r.operand_op(1);  // copies: adding ops moves them
  const bool turned = swaps_both(y);
  const Op& given_turned = r.from.op(r.op.operands[1]);
  if (turned && (!swaps_both(given_turned) || uses[given_turned.operands[0]] != 1)) return {};
  if (turned) y = Op(r.to.op(y.operands[0]));
  const Type x = r.to.type(r.operands[0]);
  if (y.code != OpCode::multiply) return {};
  if (y.type.rank() != 2 || x.rank() < 2 || !is_float(x.dtype) || !is_float(y.type.dtype)) return {};
  const std::int64_t n = y.type.shape[turned ? 0 : 1];
  for (int i : {0, 1}) {
    const Type data = r.to.type(y.operands[i]), scale = r.to.type(y.operands[1 - i]);
    const Op view = r.to.op(y.operands[i]);
    const Value converted = swaps_both(view) ? view.operands[0] : y.operands[i];
    const Op made = r.to.op(converted);
    const bool given = made.code == OpCode::cast && r.to.op(made.operands[0]).code == OpCode::input;
    if (!given || !is_float(data.dtype) || data.shape != y.type.shape || scale.size() != n) continue;
    if (is_float(r.to.type(made.operands[0]).dtype)) continue;
    const bool per_column =
        turned ? scale.rank() == 2 && scale.shape[0] == n : scale.rank() >= 1 && scale.shape.back() == n;
    if (!per_column) continue;
    const Expr left(r.to, r.operands[0]), by(r.to, y.operands[1 - i]), matrix(r.to, converted);
    const Expr right = turned != swaps_both(view) ? transpose(matrix) : matrix;
    const bool narrow = size_bytes(x.dtype) == 2 && size_bytes(data.dtype) == 2;
    const Expr sums = narrow ? matmul_f32(left, right) : matmul(left, right);
    return cast(sums * reshape(by, {n}), r.op.type.dtype).value();
  }
  return {};
}

// A comparison of columns with rows has the shape of what it chooses from, so that it is made where it is used, and
// counts in float32, which an engine compares quickest.
std::optional<Value> banded_choice(const Rewriting& r) {
  if (r.op.code != OpCode::where || r.op.type.rank() < 2 || !is_float(r.op.type.dtype)) return {};
  const Op cond = r.operand_op(0);  // a copy: adding ops moves them
  const Shape shape = r.op.type.shape;
  if (cond.type.rank() < 2 || cond.type.shape.back() != shape.back() ||
      cond.type.shape[cond.type.shape.size() - 2] != shape[shape.size() - 2])
    return {};
  const auto ahead = band_of(r.to, r.operands[0]);
  if (!ahead || std::abs(*ahead) > (1 << 23) || shape.back() > (1 << 23) || shape[shape.size() - 2] > (1 << 23))
    return {};
  const Type ramp{DType::float32, shape};
  if (cond.type.shape == shape && r.to.type(cond.operands[0]).dtype == DType::float32) return {};
  const auto rank = static_cast<std::int64_t>(shape.size());
  const Value columns = r.to.iota(ramp, rank - 1);
  Expr rows(r.to, r.to.iota(ramp, rank - 2));
  if (*ahead != 0) rows = rows + static_cast<double>(*ahead);
  return r.to.add(OpCode::where, {(Expr(r.to, columns) <= rows).value(), r.operands[1], r.operands[2]});
}

// A window of columns is two choices, one for each end.
std::optional<Value> windowed_choice(const Rewriting& r) {
  if (r.op.code != OpCode::where || r.op.type.rank() < 2 || !is_float(r.op.type.dtype)) return {};
  const Shape shape = r.op.type.shape, of = r.to.type(r.operands[0]).shape;
  const auto fill = splat_of(r.to, r.operands[2]);
  if (!fill || *fill > kHiddenFill || of.size() < 2 || of.back() != shape.back() || of.end()[-2] != shape.end()[-2])
    return {};
  const KeyWindow window = window_of(r.to, r.operands[0]);
  if (!window.ahead || !window.back) return {};
  for (std::int64_t n : {*window.ahead, *window.back, shape.back(), shape.end()[-2]}) {
    if (std::abs(n) > (1 << 23)) return {};
  }
  const Type ramp{DType::float32, shape};
  const auto rank = static_cast<std::int64_t>(shape.size());
  const Expr columns(r.to, r.to.iota(ramp, rank - 1)), rows(r.to, r.to.iota(ramp, rank - 2));
  const auto plus = [](const Expr& x, std::int64_t n) { return n == 0 ? x : x + static_cast<double>(n); };
  const Value low = (rows <= plus(columns, *window.back)).value(),
              high = (columns <= plus(rows, *window.ahead)).value();
  const Value inner = r.to.add(OpCode::where, {low, r.operands[1], r.operands[2]});
  return r.to.add(OpCode::where, {high, inner, r.operands[2]});
}

// What hides elements behind a factor s: mask / s, or in front of a softmax, for which one mask is as good as another,
// the largest number with that sign. A row that sees nothing has a softmax, unless the mask is infinite.
std::optional<double> mask_before_factor(DType t, double mask, double s, bool before_softmax) {
  const double exact = stored(t, mask / s), most = t == DType::float16 ? -0x1p15 : -0x1p127;
  if (std::isinf(mask) || !std::isinf(exact)) return exact;
  return before_softmax && most * s <= kHiddenFill ? std::optional(most) : std::nullopt;
}

// where(c, x * s, mask) is where(c, x, mask / s) * s: what follows can take the factor along.
std::optional<Value> scaled_choice(const Rewriting& r, bool before_softmax) {
  if (r.op.code != OpCode::where || !is_float(r.op.type.dtype)) return {};
  const auto fill = splat_of(r.to, r.operands[2]);
  const Op x = r.operand_op(1);  // a copy: adding ops moves them
  if (!fill || *fill > kHiddenFill || x.code != OpCode::multiply || !(x.type == r.op.type)) return {};
  for (int i : {0, 1}) {
    const auto s = splat_of(r.to, x.operands[i]);
    if (!s || *s < 1e-4 || *s > 1 || !(r.to.type(x.operands[1 - i]) == x.type)) continue;
    const auto hidden = mask_before_factor(x.type.dtype, *fill, *s, before_softmax);
    if (!hidden) continue;
    const Value mask = r.to.constant({x.type.dtype, {}}, {*hidden});
    const Value chosen = r.to.add(OpCode::where, {r.operands[0], x.operands[1 - i], mask});
    return r.to.add(OpCode::multiply, {chosen, r.to.constant({x.type.dtype, {}}, {*s})});
  }
  return {};
}

// A choice that took the place of something else, as it would be had it been written so.
Value choice(const Rewriting& r, Value v, bool before_softmax) {
  for (const auto& simpler : {windowed_choice, banded_choice}) {
    const Op op = r.to.op(v);  // a copy: adding ops moves them
    if (op.code == OpCode::where) v = simpler({r.from, r.to, op, op.operands}).value_or(v);
  }
  const Op op = r.to.op(v);
  return op.code == OpCode::where ? scaled_choice({r.from, r.to, op, op.operands}, before_softmax).value_or(v) : v;
}

constexpr std::int64_t kFewColumns = 512;  // of a product: the tensor engine would wait for its operands

// A slice of the last dimension alone.
bool cuts_columns(const Graph& graph, const Op& op) {
  if (op.code != OpCode::slice || op.type.rank() < 1) return false;
  const Shape& x = graph.type(op.operands[0]).shape;
  for (std::size_t d = 0; d + 1 < x.size(); ++d) {
    if (op.type.shape[d] != x[d]) return false;
  }
  return op.ints("steps").back() == 1 && op.type.shape.back() >= kFewColumns;
}

// Whether columns of v, a product or what elementwise ops make of one, can be computed apart. `last`: it is what is
// cut.
bool has_separate_columns(const Graph& graph, const Users& users, const std::vector<int>& uses, Value v, bool last) {
  const Op& op = graph.op(v);
  std::int64_t cut = 0;
  for (Value u : users[v]) cut += last && cuts_columns(graph, graph.op(u)) ? graph.type(u).shape.back() : 0;
  const bool all =
      std::all_of(users[v].begin(), users[v].end(), [&](Value u) { return !last || cuts_columns(graph, graph.op(u)); });
  if (!all || uses[v] != static_cast<int>(users[v].size()) || (!last && uses[v] != 1)) return false;
  if (last && cut > op.type.shape.back()) return false;  // columns that are in two slices
  if (op.code == OpCode::matmul) return graph.type(op.operands[1]).rank() >= 2;
  if (!is_elementwise(op.code)) return false;
  return std::any_of(op.operands.begin(), op.operands.end(), [&](Value x) {
    return graph.type(x).shape == op.type.shape && has_separate_columns(graph, users, uses, x, false);
  });
}

Value columns_of(Graph& graph, Value v, std::int64_t start, std::int64_t size) {
  const Op op = graph.op(v);  // a copy: adding ops moves them
  if (op.type.rank() == 0 || op.type.shape.back() == 1) return v;
  if (op.code == OpCode::matmul)
    return graph.add(OpCode::matmul, {op.operands[0], columns_of(graph, op.operands[1], start, size)});
  if (is_elementwise(op.code)) {
    std::vector<Value> operands;
    for (Value x : op.operands) operands.push_back(columns_of(graph, x, start, size));
    return graph.add(op.code, std::move(operands), op.attrs);
  }
  return slice(Expr(graph, v), -1, start, start + size).value();
}

// Columns of a product, alone: those that stand side by side in one product go different ways.
std::optional<Value> cut_product(const Rewriting& r, const Users& users, const std::vector<int>& uses) {
  if (!cuts_columns(r.from, r.op) || !has_separate_columns(r.from, users, uses, r.op.operands[0], true)) return {};
  const OpCode code = r.operand_op(0).code;
  if (code != OpCode::matmul && !is_elementwise(code)) return {};
  return columns_of(r.to, r.operands[0], r.op.ints("starts").back(), r.op.type.shape.back());
}

}  // namespace

Graph canonicalize(const Graph& graph) {
  Seen seen;
  Users users(graph.size());
  const std::vector<int> uses = graph.uses();
  for (Value v = 0; v < graph.size(); ++v) {
    for (Value x : graph.op(v).operands) users[x].push_back(v);
  }
  const auto users_of = [&](const Rewriting& r) -> const auto& { return users[&r.op - graph.ops().data()]; };
  const Graph out = rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    if (r.op.code == OpCode::input) return {};
    if (const auto v = folded_empty(r)) return v;
    if (const auto v = folded(r)) return v;
    if (const auto v = simpler_view(r)) return v;
    if (const auto v = made_choice(r)) return v;
    if (const auto v = on_rows_together(r)) return v;
    if (const auto v = rows_of_number(r)) return v;
    if (const auto v = cut_product(r, users, uses)) return v;
    if (const auto v = product_of_chosen(r, uses)) return v;
    if (r.op.code == OpCode::cast && r.op.type == r.operand_op(0).type) return r.operands[0];
    if (const auto v = recomposed(r)) return v;
    if (const auto v = recognised_activation(r)) return v;
    if (const auto v = banded_constant(r)) return v;
    const bool before_softmax = is_shifted(graph, users_of(r));
    if (const auto v = turned_choice(r)) return choice(r, *v, before_softmax);
    if (const auto v = banded_sum(r, users, uses)) return choice(r, *v, before_softmax);
    if (r.op.code == OpCode::where) {
      if (const auto v = windowed_choice(r)) return choice(r, *v, before_softmax);
      if (const auto v = banded_choice(r)) return choice(r, *v, before_softmax);
      if (const auto v = scaled_choice(r, before_softmax)) return v;
    }
    if (const auto v = of_one_element(r)) return v;
    if (const auto v = scaled_extreme(r, users_of(r))) return v;
    if (const auto v = scaled_product(r)) return v;
    if (const auto v = turned_after_cast(r, users, uses)) return v;
    if (const auto v = scaled_columns(r, uses)) return v;
    if (const auto v = grouped_product(r)) return v;
    Op op = r.op;
    op.operands = r.operands;
    if (const auto v = seen.find(r.to, op)) return v;
    const Value v = r.to.copy(r.from, op, op.operands);
    seen.add(r.to.op(v), v);
    return v;
  });
  return without_dead_ops(out);
}

}  // namespace kiln::tensor
