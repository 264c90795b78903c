#include "kiln/tensor/passes/recompute.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/fuse.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kLarge = 16384;  // elements: less is stored and read in no time
constexpr int kMostAgain = 4;           // that are computed again
constexpr std::int64_t kSmall = 16;     // so many times smaller operands do not count

class Recomputer {
 public:
  explicit Recomputer(const Graph& graph) : graph_(graph), fusion_(fuse(graph)), users_(graph.size()) {
    for (Value v = 0; v < graph.size(); ++v) {
      for (Value x : graph.op(v).operands) users_[x].push_back(v);
    }
    for (const Output& o : graph.outputs()) given_.insert(o.value);
  }
  Graph run();

 private:
  bool computes(Value v) const {
    const OpCode code = graph_.op(v).code;
    return (is_elementwise(code) || code == OpCode::where || code == OpCode::cast) && in_rows(v);
  }
  bool in_rows(Value v) const {
    const int r = fusion_.region_of[v];
    return r >= 0 && fusion_.regions[r].kind == Region::Kind::rows;
  }
  bool is_worth(Value v) const;
  bool gather(Value v, std::int64_t size, int& ops, std::set<Value>& large) const;
  Value again(Graph& to, const std::vector<Value>& now, Value v, int region);

  const Graph& graph_;
  Fusion fusion_;
  std::vector<std::vector<Value>> users_;
  std::set<Value> given_, worth_;
  std::map<std::pair<Value, int>, Value> made_;  // by value and region
};

// What v is made of down to what lies in HBM.
bool Recomputer::gather(Value v, std::int64_t size, int& ops, std::set<Value>& large) const {
  if (++ops > kMostAgain) return false;
  for (Value x : graph_.op(v).operands) {
    if (splat_of(graph_, x) || graph_.type(x).size() * kSmall <= size) continue;
    Value base = x;
    while (is_view(graph_.op(base).code)) base = graph_.op(base).operands[0];
    if (fusion_.region_of[base] >= 0 && !fusion_.is_stored[base]) {
      if (base != x || !computes(x) || !gather(x, size, ops, large)) return false;
    } else if (graph_.type(base).size() * kSmall > size) {
      large.insert(base);
    }
  }
  return true;
}

// Nobody else needs it in HBM, and reading what it is made of takes no longer than reading it.
bool Recomputer::is_worth(Value v) const {
  if (!computes(v) || !fusion_.is_stored[v] || given_.contains(v) || graph_.type(v).size() < kLarge) return false;
  const bool all = std::all_of(users_[v].begin(), users_[v].end(), [&](Value u) {
    if (fusion_.region_of[u] == fusion_.region_of[v])
      return !is_product(graph_.op(u).code) || graph_.op(u).operands[1] != v;
    return in_rows(u) && !is_view(graph_.op(u).code) && !is_product(graph_.op(u).code);
  });
  int ops = 0;
  std::set<Value> large;
  return all && gather(v, graph_.type(v).size(), ops, large) && large.size() == 1;
}

Value Recomputer::again(Graph& to, const std::vector<Value>& now, Value v, int region) {
  if (!computes(v) || fusion_.region_of[v] == region) return now[v];
  if (fusion_.is_stored[v] && !worth_.contains(v)) return now[v];
  const auto made = made_.find({v, region});
  if (made != made_.end()) return made->second;
  std::vector<Value> operands;
  for (Value x : graph_.op(v).operands) operands.push_back(again(to, now, x, region));
  return made_[{v, region}] = to.copy(graph_, graph_.op(v), std::move(operands));
}

Graph Recomputer::run() {
  for (Value v = 0; v < graph_.size(); ++v) {
    if (is_worth(v)) worth_.insert(v);
  }
  if (worth_.empty()) return graph_;
  Graph out(graph_.name);
  std::vector<Value> now;
  for (Value v = 0; v < graph_.size(); ++v) {
    const Op& op = graph_.op(v);
    std::vector<Value> operands;
    for (Value x : op.operands)
      operands.push_back(worth_.contains(x) ? again(out, now, x, fusion_.region_of[v]) : now[x]);
    now.push_back(out.copy(graph_, op, std::move(operands)));
  }
  for (const Output& o : graph_.outputs()) out.output(o.name, now[o.value]);
  return without_dead_ops(out);
}

}  // namespace

Graph recomputed(const Graph& graph) { return Recomputer(graph).run(); }

}  // namespace kiln::tensor
