#include "kiln/tensor/passes/held_matrices.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/fuse.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

// Fewer rows come by sooner than the next block of a matrix is there; more fill blocks of 128.
constexpr std::int64_t kFewestRows = 128, kMostRows = 2048;
constexpr std::int64_t kFewestColumns = 256, kFewestSummed = 256;

class Holder {
 public:
  Holder(const Graph& graph, HeldMatrices which) : from_(graph), which_(which), users_(graph.size()) {
    for (Value v = 0; v < graph.size(); ++v) {
      for (Value x : graph.op(v).operands) users_[x].push_back(v);
    }
    turned_.resize(graph.size());
    for (Value v = 0; v < graph.size(); ++v) turned_[v] = is_candidate(v) || takes_part(v);
    for (bool changed = true; changed;) {
      changed = false;
      for (Value v = 0; v < graph.size(); ++v) {
        if (turned_[v] && (!(is_candidate(v) || takes_part(v)) || !leaves_turned(v))) {
          turned_[v] = false;
          changed = true;
        }
      }
    }
  }

  // Whether products find what they sum over turned, or what blocks of 128 rows leave empty is worth turning for.
  bool is_needed() const {
    for (Value v = 0; v < from_.size(); ++v) {
      const Op& op = from_.op(v);
      if (is_product(op.code) && (turned_[op.operands[0]] || (turned_[v] && is_better_alone(op)))) return true;
    }
    return false;
  }
  Graph run();

 private:
  bool is_given(Value v) const {
    while (is_view(from_.op(v).code)) v = from_.op(v).operands[0];
    const OpCode code = from_.op(v).code;
    return code == OpCode::input || code == OpCode::constant;
  }

  bool is_candidate(Value v) const {
    const Op& op = from_.op(v);
    if (op.code != OpCode::matmul || op.type.rank() != 2 || !is_float(op.type.dtype)) return false;
    const Type &x = from_.type(op.operands[0]), &y = from_.type(op.operands[1]);
    if (x.rank() != 2 || y.rank() != 2 || !is_given(op.operands[1]) || op.operands[0] == op.operands[1]) return false;
    const std::int64_t rows = x.shape[0];
    return rows > kFewestRows && rows <= kMostRows && x.shape[1] >= kFewestSummed && y.shape[1] >= kFewestColumns;
  }

  // Whether one product is quicker with its matrix held, and its result turned.
  bool is_better_alone(const Op& op) const {
    constexpr double kWorth = 1.1;
    const auto filled = [](std::int64_t n) {
      return static_cast<double>(n) / static_cast<double>((n + kFewestRows - 1) / kFewestRows * kFewestRows);
    };
    return filled(op.type.shape[1]) > kWorth * filled(op.type.shape[0]);
  }

  // Whether an operand of an elementwise op has one element for each column, or one in all.
  bool is_of_columns(Value x, std::int64_t columns) const {
    const Shape& shape = from_.type(x).shape;
    return from_.type(x).size() == 1 || (from_.type(x).size() == columns && shape.back() == columns);
  }

  // Whether an elementwise op is of turned values, and of what all rows have in common.
  bool takes_part(Value v) const {
    const Op& op = from_.op(v);
    if (!is_elementwise(op.code) && op.code != OpCode::where && op.code != OpCode::cast) return false;
    if (op.type.rank() != 2) return false;
    bool any = false;
    for (Value x : op.operands) {
      const bool turned = turned_[x] && from_.type(x).shape == op.type.shape;
      if (!turned && !is_of_columns(x, op.type.shape[1])) return false;
      any = any || turned;
    }
    return any;
  }

  // Whether nobody wants v in rows.
  bool leaves_turned(Value v) const {
    const auto outputs = std::ranges::count_if(from_.outputs(), [&](const Output& o) { return o.value == v; });
    if (outputs > 0) return which_ == HeldMatrices::all && users_[v].empty();
    return !users_[v].empty() && std::ranges::all_of(users_[v], [&](Value u) {
      return turned_[u] || (is_product(from_.op(u).code) && from_.op(u).operands[1] != v && from_.type(u).rank() == 2);
    });
  }

  Value turned(const Rewriting& r, Value v);

  const Graph& from_;
  HeldMatrices which_;
  std::vector<std::vector<Value>> users_;
  std::vector<bool> turned_;
  std::map<Value, Value> made_;   // of the new graph, by value of the old one: with rows as columns
  std::map<Value, Value> given_;  // the same of what is not turned
};

Value Holder::turned(const Rewriting& r, Value v) {
  const Op& op = from_.op(v);
  const auto columns_of = [&](std::size_t i) {
    const Value x = op.operands[i];
    if (turned_[x]) return made_.at(x);
    const auto [it, is_new] = given_.try_emplace(x);
    if (is_new) it->second = transpose(r.operand(i)).value();
    return it->second;
  };
  if (is_product(op.code)) return r.to.add(op.code, {transpose(r.operand(1)).value(), columns_of(0)});
  std::vector<Value> operands;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Type& t = from_.type(op.operands[i]);
    if (turned_[op.operands[i]])
      operands.push_back(made_.at(op.operands[i]));
    else if (t.size() == 1)
      operands.push_back(r.operands[i]);
    else
      operands.push_back(reshape(r.operand(i), {t.size(), 1}).value());
  }
  return r.to.add(op.code, std::move(operands), op.attrs);
}

Graph Holder::run() {
  Value next = 0;
  return without_dead_ops(rebuilt(from_, [&](const Rewriting& r) -> std::optional<Value> {
    const Value v = next++;
    if (!turned_[v]) return {};
    return transpose(Expr(r.to, made_[v] = turned(r, v))).value();
  }));
}

}  // namespace

std::optional<Graph> with_held_matrices(const Graph& graph, HeldMatrices which) {
  Holder holder(graph, which);
  if (!holder.is_needed()) return {};
  return holder.run();
}

}  // namespace kiln::tensor
