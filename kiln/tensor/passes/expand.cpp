#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {

Expr with_axis_last(const Expr& x, std::int64_t axis) {
  Ints perm;
  for (std::int64_t d = 0; d < x.rank(); ++d) {
    if (d != axis) perm.push_back(d);
  }
  perm.push_back(axis);
  return transpose(x, perm);
}

Expr with_axis_back(const Expr& x, std::int64_t axis) {
  Ints perm;
  for (std::int64_t d = 0; d + 1 < x.rank(); ++d) perm.push_back(d);
  perm.insert(perm.begin() + axis, x.rank() - 1);
  return transpose(x, perm);
}

Graph expand(const Graph& graph) {
  constexpr int kMostRounds = 8;  // what an op becomes may itself be expanded
  Graph out = graph;
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    out = rebuilt(out, [&](const Rewriting& r) -> std::optional<Value> {
      auto v = expanded_move(r);
      if (!v) v = expanded_indexing(r);
      if (!v) v = expanded_order(r);
      if (!v) v = expanded_random(r);
      if (!v) v = expanded_mx(r);
      if (!v) v = expanded_window(r);
      changed = changed || v.has_value();
      return v;
    });
    if (!changed) break;
  }
  return without_dead_ops(out);
}

}  // namespace kiln::tensor
