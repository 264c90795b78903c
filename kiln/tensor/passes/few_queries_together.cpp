#include "kiln/tensor/passes/few_queries_together.h"

#include <algorithm>

#include "kiln/tensor/ir/more.h"

namespace kiln::tensor {

namespace {

constexpr std::int64_t kFewRows = 32, kFewestKeys = 512;

// Whether v is made of a product, element by element and along its rows.
bool comes_from_product(const Graph& g, Value v) {
  constexpr int kSteps = 16;
  for (int step = 0; step < kSteps; ++step) {
    const Op& op = g.op(v);
    if (is_product(op.code)) return true;
    const bool follows = is_elementwise(op.code) || op.code == OpCode::cast || op.code == OpCode::where;
    const bool reduces = op.code == OpCode::max || op.code == OpCode::sum;
    if (!follows && !reduces) return false;
    const auto next =
        std::ranges::find_if(op.operands, [&](Value x) { return reduces || g.type(x).shape == op.type.shape; });
    if (next == op.operands.end()) return false;
    v = *next;
  }
  return false;
}

// The scores (..., rows, keys) of which v is another view, or what their rows have been reduced to.
std::optional<Value> rows_seen_apart(const Graph& g, Value v) {
  const Op& op = g.op(v);
  if (op.code != OpCode::reshape) return {};
  const Shape &from = g.type(op.operands[0]).shape, &to = op.type.shape;
  if (from.size() < 3 || to.size() < 3 || from.back() != to.back() || from[from.size() - 2] == to[to.size() - 2])
    return {};
  if (from[from.size() - 2] > kFewRows || from[from.size() - 2] % to[to.size() - 2] != 0) return {};
  return comes_from_product(g, op.operands[0]) ? std::optional(op.operands[0]) : std::nullopt;
}

// A mask (queries, keys), or what has one of either, repeated to so many rows.
std::optional<Expr> repeated(Graph& g, Value v, std::int64_t rows) {
  const Op op = g.op(v);  // a copy: adding ops moves them
  if (op.type.size() == 1) return reshape(Expr(g, v), {});
  Shape own = op.type.shape;
  while (own.size() > 2 && own.front() == 1) own.erase(own.begin());
  if (own.size() > 2) return {};
  if (own.size() == 1 || own.front() == 1) return reshape(Expr(g, v), {own.back()});
  if (rows % own.front() != 0) return {};
  const std::int64_t times = rows / own.front();
  if (op.code == OpCode::constant && op.numbers && static_cast<std::int64_t>(op.numbers->size()) == op.type.size()) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < times; ++i) all.insert(all.end(), op.numbers->begin(), op.numbers->end());
    return Expr(g, g.constant({op.type.dtype, {rows, own.back()}}, std::move(all)));
  }
  return reshape(broadcast_to(reshape(Expr(g, v), {1, own.front(), own.back()}), {times, own.front(), own.back()}),
                 {rows, own.back()});
}

}  // namespace

std::optional<Value> on_rows_together(const Rewriting& r) {
  const bool reduces = r.op.code == OpCode::max || r.op.code == OpCode::sum;
  const bool computes = is_elementwise(r.op.code) || r.op.code == OpCode::cast || r.op.code == OpCode::where;
  if (!reduces && !computes) return {};
  std::optional<Value> scores;
  for (Value v : r.operands) {
    if (r.to.type(v).shape.empty() || scores) continue;
    if (computes && r.to.type(v).shape != r.op.type.shape) continue;
    scores = rows_seen_apart(r.to, v);
  }
  if (!scores) return {};
  const Shape together = r.to.type(*scores).shape;  // a copy: adding ops moves types
  const std::int64_t rank = static_cast<std::int64_t>(together.size()), rows = together[together.size() - 2];
  if (reduces) {
    if (r.op.ints("axes") != Ints{static_cast<std::int64_t>(r.operand(0).rank()) - 1} || together.back() < kFewestKeys)
      return {};
    Op op = r.op;
    const Value v = r.to.add(op.code, {*scores}, {Ints{rank - 1}, true});
    return reshape(Expr(r.to, v), r.op.type.shape).value();
  }
  std::vector<Value> operands;
  for (Value v : r.operands) {
    const auto apart = rows_seen_apart(r.to, v);
    const Shape own = apart ? r.to.type(*apart).shape : Shape{};
    if (apart && std::equal(own.begin(), own.end() - 1, together.begin(), together.end() - 1)) {
      operands.push_back(*apart);
      continue;
    }
    if (r.to.type(v).size() != 1 && together.back() < kFewestKeys) return {};
    const auto mask = repeated(r.to, v, rows);
    if (!mask) return {};
    operands.push_back(mask->value());
  }
  const Value v = r.to.add(r.op.code, std::move(operands), r.op.attrs);
  return r.to.type(v).shape == together ? std::optional(reshape(Expr(r.to, v), r.op.type.shape).value()) : std::nullopt;
}

}  // namespace kiln::tensor
