#include "kiln/tensor/passes/odd_lengths.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kLanes = 128, kFewLanes = 32;
constexpr std::int64_t kLong = 16384;  // shorter ones are done before they are taken apart

// Whether no number of rows on partitions divides a length.
bool is_odd(const Type& t) {
  if (t.rank() != 1 || t.shape[0] < kLong) return false;
  for (std::int64_t lanes = kFewLanes; lanes <= kLanes; ++lanes) {
    if (t.shape[0] % lanes == 0) return false;
  }
  return true;
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

class Splitter {
 public:
  explicit Splitter(const Graph& graph) : from_(graph) {}

  Graph run() {
    return rebuilt(from_, [&](const Rewriting& r) -> std::optional<Value> {
      if (const auto v = split(r)) return v;
      if (const auto v = reduced(r)) return v;
      if (const auto v = multiplied(r)) return v;
      return {};
    });
  }

 private:
  // 128 rows, and what is left.
  struct Parts {
    Value rows, rest;
  };

  Parts parts_of(Graph& g, Value v) {
    if (const auto known = parts_.find(v); known != parts_.end()) return known->second;
    const Expr x(g, v);
    if (x.rank() == 0) return {v, v};
    if (x.shape()[0] == 1) return {reshape(x, {}).value(), reshape(x, {}).value()};
    const std::int64_t n = x.shape()[0], even = n / kLanes * kLanes;
    const Parts out{reshape(slice(x, 0, 0, even), {kLanes, even / kLanes}).value(), slice(x, 0, even, n).value()};
    return parts_[v] = out;
  }

  std::optional<Value> split(const Rewriting& r) {
    if (!is_computed(r.op.code) || !is_odd(r.op.type)) return {};
    std::vector<Value> rows, rest;
    for (Value v : r.operands) {
      const Parts parts = parts_of(r.to, v);
      rows.push_back(parts.rows), rest.push_back(parts.rest);
    }
    const Parts made{r.to.add(r.op.code, rows, r.op.attrs), r.to.add(r.op.code, rest, r.op.attrs)};
    const std::int64_t even = r.op.type.shape[0] / kLanes * kLanes;
    const Value whole = concat({reshape(Expr(r.to, made.rows), {even}), Expr(r.to, made.rest)}, 0).value();
    parts_[whole] = made;
    return whole;
  }

  std::optional<Value> reduced(const Rewriting& r) {
    const bool mean = r.op.code == OpCode::mean;
    const auto together = mean ? OpCode::add : joined_by(r.op.code);
    if (!together || !is_odd(r.to.type(r.operands[0]))) return {};
    const Parts parts = parts_of(r.to, r.operands[0]);
    const DType t = r.op.type.dtype;
    const auto over = [&](Value v, const Ints& axes) {
      const Expr x =
          mean || (r.op.code == OpCode::sum && is_float(t)) ? cast(Expr(r.to, v), DType::float32) : Expr(r.to, v);
      return r.to.add(mean ? OpCode::sum : r.op.code, {x.value()}, {axes, false});
    };
    Expr out(r.to, r.to.add(*together, {over(parts.rows, {0, 1}), over(parts.rest, {0})}));
    if (mean) out = out * (1.0 / static_cast<double>(r.to.type(r.operands[0]).shape[0]));
    return reshape(cast(out, t), r.op.type.shape).value();
  }

  // The product of two vectors.
  std::optional<Value> multiplied(const Rewriting& r) {
    if (!is_product(r.op.code) || !is_float(r.op.type.dtype) || r.op.type.rank() != 0) return {};
    if (!is_odd(r.to.type(r.operands[0]))) return {};
    const auto wide = [&](Value v) { return cast(Expr(r.to, v), DType::float32); };
    const Parts x = parts_of(r.to, r.operands[0]), y = parts_of(r.to, r.operands[1]);
    const auto sum = [&](Value a, Value b, const Ints& axes) {
      return Expr(r.to, r.to.add(OpCode::sum, {(wide(a) * wide(b)).value()}, {axes, false}));
    };
    return cast(sum(x.rows, y.rows, {0, 1}) + sum(x.rest, y.rest, {0}), r.op.type.dtype).value();
  }

  const Graph& from_;
  std::map<Value, Parts> parts_;
};

}  // namespace

Graph with_even_lengths(const Graph& graph) {
  const auto has_odd = [](const Op& op) { return is_odd(op.type); };
  if (std::none_of(graph.ops().begin(), graph.ops().end(), has_odd)) return graph;
  return without_dead_ops(Splitter(graph).run());
}

}  // namespace kiln::tensor
