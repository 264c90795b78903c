#include "kiln/tensor/passes/norm_rows.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/fuse.h"
#include "kiln/tensor/passes/norm_group.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

// A group and the order in which it sees its dimensions: those that stay, then those that are reduced.
struct SeenGroup {
  NormGroup group;
  Ints perm, back;    // from the dimensions that all have to these, and back
  Shape one_per_row;  // these, reduced ones as 1
  Ints reduced;       // where they are

  explicit SeenGroup(NormGroup g) : group(std::move(g)) {
    for (const bool goes : {false, true}) {
      for (std::size_t d = 0; d < group.fine.size(); ++d) {
        if (group.goes[d] != goes) continue;
        if (goes) reduced.push_back(static_cast<std::int64_t>(perm.size()));
        perm.push_back(static_cast<std::int64_t>(d));
        one_per_row.push_back(goes ? 1 : group.fine[d]);
      }
    }
    back.resize(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i)
      back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  }
};

class NormTurner {
 public:
  explicit NormTurner(const Graph& graph) : from_(graph), group_of_(graph.size(), -1) {}

  bool find_groups() {
    for (Value v = 0; v < from_.size(); ++v) {
      if (group_of_[v] >= 0 || !is_norm_reduction(from_, from_.op(v))) continue;
      auto group = norm_group_of(from_, v);
      if (!group || !is_worth(*group)) continue;
      for (const auto* set : {&group->whole, &group->columns}) {
        for (Value m : *set) group_of_[m] = static_cast<int>(groups_.size());
      }
      groups_.emplace_back(std::move(*group));
    }
    return !groups_.empty();
  }

  Graph run() {
    Value next = 0;
    return rebuilt(from_, [&](const Rewriting& r) -> std::optional<Value> {
      const Value v = next++;
      if (group_of_[v] < 0) return {};
      const SeenGroup& s = groups_[static_cast<std::size_t>(group_of_[v])];
      const Expr made(r.to, turned(r, v, s));
      turned_[v] = made.value();
      const bool whole = s.group.whole.contains(v);
      return reshape(whole ? transpose(made, s.back) : made, r.op.type.shape).value();
    });
  }

 private:
  // Whether its rows are no rows as they stand, and rows of long runs otherwise.
  bool is_worth(const NormGroup& group) const {
    constexpr std::int64_t kShortRun = 512;  // bytes
    if (!goes_in_parts(group)) return false;
    const auto taken = [&](Value v) { return group_of_[v] >= 0; };
    if (std::any_of(group.whole.begin(), group.whole.end(), taken)) return false;
    if (std::is_sorted(group.goes.begin(), group.goes.end()))
      return std::any_of(group.whole.begin(), group.whole.end(),
                         [&](Value v) { return !row_dims(from_.type(v).shape, group.rows); });
    std::int64_t run = size_bytes(from_.type(*group.whole.begin()).dtype);
    for (std::size_t d = group.fine.size(); d-- > 0 && group.goes[d];) run *= group.fine[d];
    return run >= kShortRun;
  }

  Value seen(const Rewriting& r, std::size_t i, bool whole, const SeenGroup& s) {
    const Value x = r.op.operands[i];
    if (s.group.has(x)) return turned_.at(x);
    if (const auto number = splat_of(from_, x)) return r.to.constant({from_.type(x).dtype, {}}, {*number});
    if (!whole) return reshape(broadcast_to(r.operand(i), r.op.type.shape), s.one_per_row).value();
    const auto turned_now = [&](const Expr& all) { return transpose(reshape(all, s.group.fine), s.perm).value(); };
    if (from_.type(x).size() < s.group.rows * s.group.elements)
      return turned_now(broadcast_to(r.operand(i), r.op.type.shape));
    const auto known = given_.find({x, &s});
    return known != given_.end() ? known->second : given_[{x, &s}] = turned_now(r.operand(i));
  }

  Value turned(const Rewriting& r, Value v, const SeenGroup& s) {
    const bool reduces = is_norm_reduction(from_, r.op), whole = s.group.whole.contains(v);
    std::vector<Value> operands;
    for (std::size_t i = 0; i < r.op.operands.size(); ++i) operands.push_back(seen(r, i, reduces || whole, s));
    if (r.op.code == OpCode::reshape) return operands[0];
    if (!reduces) return r.to.add(r.op.code, std::move(operands), r.op.attrs);
    Attrs attrs = r.op.attrs;
    attrs[0] = s.reduced;
    attrs[1] = true;
    return r.to.add(r.op.code, std::move(operands), std::move(attrs));
  }

  const Graph& from_;
  std::vector<int> group_of_;
  std::vector<SeenGroup> groups_;
  std::map<Value, Value> turned_;                              // of the new graph, by value of the old one
  std::map<std::pair<Value, const SeenGroup*>, Value> given_;  // the same of what a group reads
};

}  // namespace

Graph with_norm_rows(const Graph& graph) {
  NormTurner turner(graph);
  return turner.find_groups() ? without_dead_ops(turner.run()) : graph;
}

}  // namespace kiln::tensor
