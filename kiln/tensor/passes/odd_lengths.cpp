#include "kiln/tensor/passes/odd_lengths.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/norm_group.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kLanes = 128, kFewLanes = 32;
constexpr std::int64_t kLong = 16384;  // shorter ones are done before they are taken apart

std::int64_t length_of(const Type& t) { return t.rank() == 0 ? 1 : t.shape.back(); }
std::int64_t rows_of(const Type& t) { return product(t.shape, 0, t.shape.size() - 1); }

// How many parts of a row lie on partitions of their own, with all rows side by side; 0 when its length can stay.
std::int64_t lanes_for(const Type& t) {
  if (t.rank() == 0 || length_of(t) < kLong) return 0;
  const std::int64_t rows = rows_of(t);
  if (rows < 1 || rows > kFewLanes) return 0;
  for (std::int64_t lanes = kFewLanes / rows + 1; lanes <= kLanes / rows; ++lanes) {
    if (length_of(t) % lanes == 0) return 0;
  }
  return kLanes / rows;
}

bool is_computed(OpCode code) { return is_elementwise(code) || code == OpCode::where || code == OpCode::cast; }

// What two parts of a reduction become together.
std::optional<OpCode> joined_by(OpCode code) {
  switch (code) {
    case OpCode::sum:
      return OpCode::add;
    case OpCode::prod:
      return OpCode::multiply;
    case OpCode::max:
      return OpCode::maximum;
    case OpCode::min:
      return OpCode::minimum;
    default:
      return {};
  }
}

bool is_mean(OpCode code) { return code == OpCode::mean || code == OpCode::variance; }

// Whether an op reduces rows that are taken apart, along them.
bool is_reduced_in_parts(const Graph& graph, const Op& op) {
  if (!is_mean(op.code) && !joined_by(op.code)) return false;
  const Type& t = graph.type(op.operands[0]);
  const Ints& axes = op.ints("axes");
  const bool along = std::find(axes.begin(), axes.end(), t.rank() - 1) != axes.end();
  const bool spread = op.code == OpCode::variance;
  return along && lanes_for(t) > 0 && !(spread && op.integer("ddof") >= length_of(t));
}

enum class Apart : std::uint8_t {
  no,
  in_rows,     // each row
  altogether,  // all rows as one vector
};

Type as_vector(const Type& t) { return {t.dtype, {t.size()}}; }

// How values are taken apart. A vector always is. Rows are where somebody reduces them and all who read them, and what
// is computed of the same, can take the parts: whoever wants the whole would get it through HBM. What nobody reduces,
// and has no operand of another shape, is a vector.
std::vector<Apart> taken_apart(const Graph& graph) {
  struct Together {
    bool is_reduced = false, is_whole = false, is_flat = true;
    bool stays = false;  // some number of partitions divides the rows of a norm after all
  };
  std::vector<Value> first(graph.size());  // of those that belong together
  const auto find = [&](Value v) {
    while (first[v] != v) v = first[v] = first[first[v]];
    return v;
  };
  const auto is_odd = [&](Value v) { return lanes_for(graph.type(v)) > 0; };
  const auto is_split = [&](Value v) { return is_computed(graph.op(v).code) && is_odd(v); };
  for (Value v = 0; v < graph.size(); ++v) {
    first[v] = v;
    if (!is_split(v)) continue;
    for (Value x : graph.op(v).operands) {
      if (is_odd(x)) first[find(x)] = v;
    }
  }
  std::vector<Together> together(graph.size());
  for (Value v = 0; v < graph.size(); ++v) {
    for (Value x : graph.op(v).operands) {
      if (!is_odd(x) || is_split(v)) continue;
      const bool is_reduced = is_reduced_in_parts(graph, graph.op(v));
      together[find(x)].is_reduced |= is_reduced;
      together[find(x)].is_whole |= !is_reduced && is_computed(graph.op(x).code);
    }
  }
  for (Value v = 0; v < graph.size(); ++v) {
    if (!is_split(v)) continue;
    const auto fits = [&](Value x) { return graph.type(x).rank() == 0 || graph.type(x).shape == graph.type(v).shape; };
    const std::vector<Value>& operands = graph.op(v).operands;
    together[find(v)].is_flat &=
        lanes_for(as_vector(graph.type(v))) > 0 && std::all_of(operands.begin(), operands.end(), fits);
  }
  for (Value v : reduced_in_parts(graph)) together[find(v)].stays = true;
  std::vector<Apart> out(graph.size(), Apart::no);
  for (Value v = 0; v < graph.size(); ++v) {
    if (!is_split(v)) continue;
    const Together& all = together[find(v)];
    if (all.stays) continue;
    if (graph.type(v).rank() == 1 || (all.is_reduced && !all.is_whole))
      out[v] = Apart::in_rows;
    else if (!all.is_reduced && !all.is_whole && all.is_flat)
      out[v] = Apart::altogether;
  }
  return out;
}

class Splitter {
 public:
  explicit Splitter(const Graph& graph) : from_(graph), apart_(taken_apart(graph)) {}

  Graph run() {
    Value next = 0;
    return rebuilt(from_, [&](const Rewriting& r) -> std::optional<Value> {
      const Value v = next++;
      if (apart_[v] == Apart::in_rows) return split(r, r.op.type);
      if (apart_[v] == Apart::altogether) return split(r, as_vector(r.op.type));
      if (const auto made = reduced(r)) return made;
      return multiplied(r);
    });
  }

 private:
  // Rows of parts, and what is left.
  struct Parts {
    Value rows, rest;
  };

  Parts parts_of(Graph& g, Value v, std::int64_t lanes) {
    if (const auto known = parts_.find({v, lanes}); known != parts_.end()) return known->second;
    const Expr x(g, v);
    if (x.rank() == 0) return {v, v};
    Shape shape = x.shape();
    const std::int64_t n = shape.back(), even = n / lanes * lanes, last = x.rank() - 1;
    shape.back() = lanes;
    shape.push_back(even / lanes);
    if (n == 1) {  // for all elements of a row
      shape.back() = *(shape.end() - 2) = 1;
      return {reshape(x, shape).value(), v};
    }
    const Parts out{reshape(slice(x, last, 0, even), shape).value(), slice(x, last, even, n).value()};
    return parts_[{v, lanes}] = out;
  }

  // An op whose result, and operands of its shape, are seen in another shape.
  Value split(const Rewriting& r, const Type& seen) {
    const std::int64_t lanes = lanes_for(seen);
    std::vector<Value> rows, rest;
    for (Value v : r.operands) {
      const bool turns = r.to.type(v).shape == r.op.type.shape && !parts_.contains({v, lanes});
      const Parts parts = parts_of(r.to, turns ? reshape(Expr(r.to, v), seen.shape).value() : v, lanes);
      rows.push_back(parts.rows), rest.push_back(parts.rest);
    }
    const Parts made{r.to.add(r.op.code, rows, r.op.attrs), r.to.add(r.op.code, rest, r.op.attrs)};
    Shape even = seen.shape;
    even.back() = even.back() / lanes * lanes;
    const Expr whole = concat({reshape(Expr(r.to, made.rows), even), Expr(r.to, made.rest)}, seen.rank() - 1);
    const Value out = reshape(whole, r.op.type.shape).value();
    parts_[{out, lanes}] = made;
    return out;
  }

  std::optional<Value> reduced(const Rewriting& r) {
    if (!is_reduced_in_parts(from_, r.op)) return {};
    const Value whole = r.op.operands[0];
    if (is_computed(from_.op(whole).code) && apart_[whole] != Apart::in_rows) return {};
    const Parts parts = parts_of(r.to, r.operands[0], lanes_for(from_.type(whole)));
    const DType t = r.op.type.dtype;
    const bool wide = is_float(t) && (is_mean(r.op.code) || r.op.code == OpCode::sum);
    const auto part = [&](Value v) { return wide ? cast(Expr(r.to, v), DType::float32) : Expr(r.to, v); };
    const Expr rows = part(parts.rows), rest = part(parts.rest);
    Ints of_rows = r.op.ints("axes"), of_rest = of_rows;
    of_rows.push_back(rows.rank() - 1);
    const auto over = [&](OpCode code, const Expr& a, const Expr& b) {
      const Attrs first{of_rows, true}, second{of_rest, true};
      const Expr of_a(r.to, r.to.add(code, {a.value()}, first)), of_b(r.to, r.to.add(code, {b.value()}, second));
      return Expr(r.to, r.to.add(*joined_by(code), {reshape(of_a, of_b.shape()).value(), of_b.value()}));
    };
    if (!is_mean(r.op.code)) return reshape(cast(over(r.op.code, rows, rest), t), r.op.type.shape).value();
    double n = 1;
    for (std::int64_t a : of_rest) n *= static_cast<double>(from_.type(whole).shape[a]);
    Expr out = over(OpCode::sum, rows, rest) * (1 / n);
    if (r.op.code == OpCode::variance) {
      Shape behind = out.shape();  // one more dimension
      behind.push_back(1);
      const Expr around = square(rows - reshape(out, behind)), beside = square(rest - out);
      out = over(OpCode::sum, around, beside) * (1 / (n - static_cast<double>(r.op.integer("ddof"))));
    }
    return reshape(cast(out, t), r.op.type.shape).value();
  }

  // The product of two vectors.
  std::optional<Value> multiplied(const Rewriting& r) {
    if (!is_product(r.op.code) || !is_float(r.op.type.dtype) || r.op.type.rank() != 0) return {};
    const std::int64_t lanes = lanes_for(r.to.type(r.operands[0]));
    if (lanes == 0) return {};
    const auto wide = [&](Value v) { return cast(Expr(r.to, v), DType::float32); };
    const Parts x = parts_of(r.to, r.operands[0], lanes), y = parts_of(r.to, r.operands[1], lanes);
    const auto sum = [&](Value a, Value b, const Ints& axes) {
      return Expr(r.to, r.to.add(OpCode::sum, {(wide(a) * wide(b)).value()}, {axes, false}));
    };
    return cast(sum(x.rows, y.rows, {0, 1}) + sum(x.rest, y.rest, {0}), r.op.type.dtype).value();
  }

  const Graph& from_;
  std::vector<Apart> apart_;  // by value
  std::map<std::pair<Value, std::int64_t>, Parts> parts_;
};

}  // namespace

Graph with_even_lengths(const Graph& graph) {
  const auto has_odd = [](const Op& op) { return lanes_for(op.type) > 0; };
  if (std::none_of(graph.ops().begin(), graph.ops().end(), has_odd)) return graph;
  return without_dead_ops(Splitter(graph).run());
}

}  // namespace kiln::tensor
