#include "kiln/tensor/passes/flat_joins.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

// A range of a value along an axis.
struct Piece {
  Value value;
  std::int64_t begin, end;
};

class JoinFlattener {
 public:
  explicit JoinFlattener(const Graph& graph) : from_(graph), now_(graph.size()), is_last_(graph.size()) {
    std::vector<std::vector<Value>> users(graph.size());
    for (Value v = 0; v < graph.size(); ++v) {
      for (Value x : graph.op(v).operands) users[x].push_back(v);
    }
    for (const Output& o : graph.outputs()) is_last_[o.value] = true;
    for (Value v = 0; v < graph.size(); ++v) {
      const auto is_slice = [&](Value u) { return graph.op(u).code == OpCode::slice; };
      is_last_[v] = is_last_[v] || !std::all_of(users[v].begin(), users[v].end(), is_slice);
    }
  }

  Graph run() {
    Value next = 0;
    bool changed = false;
    Graph out = rebuilt(from_, [&](const Rewriting& r) -> std::optional<Value> {
      const Value v = next++;
      for (std::size_t i = 0; i < r.operands.size(); ++i) now_[r.op.operands[i]] = r.operands[i];
      if (r.op.code != OpCode::concat || !is_last_[v] || !is_nested(r.op)) return {};
      const std::int64_t axis = r.op.integer("axis");
      std::vector<Piece> pieces;
      gather({v, 0, r.op.type.shape[static_cast<std::size_t>(axis)]}, axis, pieces);
      std::vector<Expr> parts;
      for (const Piece& p : pieces) parts.push_back(slice(Expr(r.to, now_[p.value]), axis, p.begin, p.end));
      changed = true;
      return concat(parts, axis).value();
    });
    return changed ? without_dead_ops(out) : from_;
  }

 private:
  // A slice that takes a range of an axis and all else of a join along it.
  bool is_range_of_join(Value v, std::int64_t axis) const {
    const Op& op = from_.op(v);
    if (op.code != OpCode::slice) return false;
    const Op& below = from_.op(op.operands[0]);
    if (below.code != OpCode::concat || below.integer("axis") != axis) return false;
    for (std::size_t d = 0; d < op.type.shape.size(); ++d) {
      if (op.ints("steps")[d] != 1) return false;
      if (static_cast<std::int64_t>(d) != axis && op.type.shape[d] != below.type.shape[d]) return false;
    }
    return true;
  }
  bool is_nested(const Op& join) const {
    return std::any_of(join.operands.begin(), join.operands.end(),
                       [&](Value x) { return is_range_of_join(x, join.integer("axis")); });
  }

  // The pieces of which a range is joined, without joins between; they wait on a stack, since there may be many.
  void gather(const Piece& whole, std::int64_t axis, std::vector<Piece>& out) const {
    std::vector<Piece> left{whole};
    while (!left.empty()) {
      const Piece p = left.back();
      left.pop_back();
      const Op& op = from_.op(p.value);
      if (is_range_of_join(p.value, axis)) {
        const std::int64_t start = op.ints("starts")[static_cast<std::size_t>(axis)];
        left.push_back({op.operands[0], start + p.begin, start + p.end});
      } else if (op.code == OpCode::concat && op.integer("axis") == axis) {
        std::vector<Piece> parts;
        std::int64_t at = 0;
        for (Value x : op.operands) {
          const std::int64_t n = from_.type(x).shape[static_cast<std::size_t>(axis)];
          const std::int64_t begin = std::max(p.begin - at, std::int64_t{0}), end = std::min(p.end - at, n);
          if (begin < end) parts.push_back({x, begin, end});
          at += n;
        }
        left.insert(left.end(), parts.rbegin(), parts.rend());
      } else {
        out.push_back(p);
      }
    }
  }

  const Graph& from_;
  std::vector<Value> now_;
  std::vector<bool> is_last_;  // by value: somebody reads more than ranges of it
};

}  // namespace

Graph with_flat_joins(const Graph& graph) { return JoinFlattener(graph).run(); }

}  // namespace kiln::tensor
