#include "kiln/tensor/passes/turn_columns.h"

#include <algorithm>
#include <map>
#include <set>

#include "kiln/tensor/passes/reduction_order.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kFewestRows = 128, kFewestElements = 16;
constexpr std::int64_t kShortPiece = 1 << 16;      // elements in all: fewer are done before they are turned
constexpr std::int64_t kElementsHeld = 35000;      // of a partition, in all values that lie there at a time
constexpr std::int64_t kValuesHeld = 4;            // beside what is read
constexpr std::int64_t kRowsEnough = 128;          // side by side, as they stand
constexpr std::int64_t kElementsAsTheyAre = 4096;  // on a partition
constexpr std::int64_t kLongColumn = 128;          // elements, worth turning for what is only added up

bool can_share_columns(OpCode code) { return is_elementwise(code) || code == OpCode::where || code == OpCode::cast; }

bool is_float_reduction(const Graph& g, const Op& op) {
  switch (op.code) {
    case OpCode::sum:
    case OpCode::prod:
    case OpCode::max:
    case OpCode::min:
    case OpCode::mean:
    case OpCode::variance:
      return is_float(g.type(op.operands[0]).dtype);
    default:
      return false;
  }
}

// The shape that all of a group have, and its dimensions: (before, reduced, behind).
struct ColumnGroup {
  Shape whole, kept, left;  // kept: reduced ones as 1; left: without them
  Ints axes;
  std::int64_t before = 1, reduced = 1, behind = 1;
  std::int64_t together = 1;  // of those before, whose columns follow each other on a partition

  // Columns of this many elements as they stand, and turned.
  Shape standing(std::int64_t n) const {
    return together == 1 ? Shape{before, n, behind} : Shape{before / together, together, n, behind};
  }
  Ints turns() const { return together == 1 ? Ints{0, 2, 1} : Ints{0, 3, 1, 2}; }
  Ints turns_back() const { return together == 1 ? Ints{0, 2, 1} : Ints{0, 2, 3, 1}; }
  std::int64_t axis() const { return together == 1 ? 2 : 3; }  // of the elements, then
};

// Instructions of short columns have little to do: those of several matrices go together.
std::int64_t columns_together(const ColumnGroup& c, std::int64_t bytes) {
  constexpr std::int64_t kShortColumn = 600, kTogether = 2048, kTogetherInShort = 1024;  // elements; of 16 bits
  const std::int64_t most = c.reduced > kShortColumn ? 0 : bytes == 4 ? kTogether : kTogetherInShort;
  std::int64_t best = 1;
  for (std::int64_t n = 2; n <= c.before && n * c.reduced <= most; ++n) {
    if (c.before % n == 0) best = n;
  }
  return best;
}

std::optional<ColumnGroup> column_group_of(const Graph& g, const Op& op) {
  if (!is_float_reduction(g, op)) return {};
  ColumnGroup c{.whole = g.type(op.operands[0]).shape, .axes = op.ints("axes")};
  if (c.axes.empty() || c.axes.back() + 1 == static_cast<std::int64_t>(c.whole.size())) return {};
  if (c.axes.back() - c.axes.front() + 1 != static_cast<std::int64_t>(c.axes.size())) return {};
  c.kept = c.whole;
  for (std::size_t d = 0; d < c.whole.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const bool goes = axis >= c.axes.front() && axis <= c.axes.back();
    (axis < c.axes.front() ? c.before : goes ? c.reduced : c.behind) *= c.whole[d];
    if (goes)
      c.kept[d] = 1;
    else
      c.left.push_back(c.whole[d]);
  }
  const bool fits = c.before >= kRowsEnough && c.reduced * c.behind <= kElementsAsTheyAre;
  if (fits || c.before * c.behind < kFewestRows || c.behind < kFewestElements || c.reduced < kFewestElements) return {};
  if (product(c.whole) < kShortPiece) return {};
  c.together = columns_together(c, size_bytes(g.type(op.operands[0]).dtype));
  return c;
}

bool turns(DType t) { return is_float(t) && size_bytes(t) >= 2; }

class ColumnTurner {
 public:
  explicit ColumnTurner(const Graph& graph) : from_(graph), users_(graph.size()), group_of_(graph.size(), -1) {
    for (Value v = 0; v < graph.size(); ++v) {
      for (Value x : graph.op(v).operands) users_[x].push_back(v);
    }
  }

  bool find_groups() {
    for (Value v = 0; v < from_.size(); ++v) {
      if (group_of_[v] >= 0) continue;
      const auto columns = column_group_of(from_, from_.op(v));
      if (!columns) continue;
      const OpCode code = from_.op(v).code;
      const bool adds = code == OpCode::sum || code == OpCode::mean;
      if (adds && adds_up_along_rows(from_, from_.op(v).operands[0], columns->axes)) continue;
      const std::set<Value> group = grown(v, *columns);
      if (!is_worth(group, *columns)) continue;
      for (Value m : group) group_of_[m] = static_cast<int>(groups_.size());
      groups_.push_back(*columns);
    }
    return !groups_.empty();
  }

  Graph run() {
    Value next = 0;
    return rebuilt(from_, [&](const Rewriting& r) -> std::optional<Value> {
      const Value v = next++;
      if (group_of_[v] < 0) return {};
      const ColumnGroup& c = groups_[group_of_[v]];
      const Value made = turned(r, v, c);
      turned_[v] = made;
      const Expr e(r.to, made);
      if (r.op.type.shape != c.whole && c.together == 1) return reshape(e, r.op.type.shape).value();
      return reshape(transpose(e, c.turns_back()), r.op.type.shape).value();
    });
  }

 private:
  bool is_full(Value v, const ColumnGroup& c) const { return from_.type(v).shape == c.whole; }
  bool is_reduced(Value v, const ColumnGroup& c) const {
    return from_.type(v).shape == c.kept || from_.type(v).shape == c.left;
  }

  // Whether an op could be of a group.
  bool takes_part(Value v, const ColumnGroup& c) const {
    const Op& op = from_.op(v);
    if (group_of_[v] >= 0) return false;
    if (is_float_reduction(from_, op)) return is_full(op.operands[0], c) && op.ints("axes") == c.axes;
    if (op.code == OpCode::reshape) return is_reduced(v, c) && is_reduced(op.operands[0], c);
    if (!can_share_columns(op.code) || (!is_full(v, c) && !is_reduced(v, c))) return false;
    // Without its reduced dimensions, an operand stands beside the last ones: they have to be the same.
    return c.axes.front() == 0 || from_.type(v).shape == c.left ||
           std::none_of(op.operands.begin(), op.operands.end(), [&](Value x) { return from_.type(x).shape == c.left; });
  }

  // From a reduction to what is made of it, and to what only the group reads.
  std::set<Value> grown(Value start, const ColumnGroup& c) const {
    std::set<Value> group{start};
    const auto is_mine = [&](Value x) { return group.contains(x); };
    for (std::size_t before = 0; before != group.size();) {
      before = group.size();
      for (Value v = start; v < from_.size(); ++v) {
        const auto& operands = from_.op(v).operands;
        const bool made_of = std::any_of(operands.begin(), operands.end(), is_mine);
        const bool reads_same = is_float_reduction(from_, from_.op(v)) &&
                                std::any_of(users_[operands[0]].begin(), users_[operands[0]].end(), is_mine);
        if ((made_of || reads_same) && takes_part(v, c)) group.insert(v);
      }
      for (Value v = from_.size(); v-- > 0;) {
        const auto& users = users_[v];
        const bool alone = !users.empty() && !is_output(v) && std::all_of(users.begin(), users.end(), is_mine);
        if (alone && is_full(v, c) && can_share_columns(from_.op(v).code) && takes_part(v, c)) group.insert(v);
      }
    }
    return group;
  }

  bool is_output(Value v) const {
    return std::any_of(from_.outputs().begin(), from_.outputs().end(), [&](const Output& o) { return o.value == v; });
  }
  bool leaves(Value v, const std::set<Value>& group) const {
    return is_output(v) || std::any_of(users_[v].begin(), users_[v].end(), [&](Value u) { return !group.contains(u); });
  }

  // Whether v meets rows of its own kind, as v.T @ y: they add up while rows come as they are (passes/row_sums.h).
  bool is_summed_in_products(Value v, const ColumnGroup& c) const {
    constexpr std::int64_t kMostColumns = 512, kFewestSummed = 512;
    if (c.whole.size() != 2 || c.behind > kMostColumns || c.reduced < kFewestSummed) return false;
    const auto is_product_here = [&](Value u) { return is_product(from_.op(u).code); };
    return std::any_of(users_[v].begin(), users_[v].end(), [&](Value u) {
      return from_.op(u).code == OpCode::transpose && from_.op(u).ints("perm") == Ints{1, 0} &&
             std::any_of(users_[u].begin(), users_[u].end(), is_product_here);
    });
  }

  // Whether more is done to whole columns than to add them up, and all of it fits a partition.
  bool is_worth(const std::set<Value>& group, const ColumnGroup& c) const {
    std::set<Value> read;
    bool comes_back = false;
    for (Value v : group) {
      const auto is_of_columns = [&](Value x) { return group.contains(x) && is_reduced(x, c); };
      const auto& operands = from_.op(v).operands;
      const bool computes = is_full(v, c) && from_.op(v).code != OpCode::cast;
      const bool waits = std::any_of(operands.begin(), operands.end(), is_of_columns);
      comes_back = comes_back || (computes && (waits || c.reduced >= kLongColumn));
      if (is_full(v, c) && leaves(v, group) && !turns(from_.type(v).dtype)) return false;
      if (is_full(v, c) && is_summed_in_products(v, c)) return false;
      for (Value x : from_.op(v).operands) {
        if (group.contains(x) || !is_full(x, c) || splat_of(from_, x)) continue;
        if (!turns(from_.type(x).dtype)) return false;
        read.insert(x);
      }
    }
    return comes_back && c.reduced * (kValuesHeld + static_cast<std::int64_t>(read.size())) <= kElementsHeld;
  }

  // An operand as the group sees it: (some before, behind, others before, reduced), or with 1 instead of these.
  Value seen(const Rewriting& r, std::size_t i, bool full, const ColumnGroup& c) {
    const Value x = r.op.operands[i];
    if (group_of_[x] >= 0 && &groups_[group_of_[x]] == &c) return turned_.at(x);
    if (const auto number = splat_of(from_, x)) return r.to.constant({from_.type(x).dtype, {}}, {*number});
    const auto one_per_column = [&](const Shape& shape) {
      const Expr all = broadcast_to(r.operand(i), shape);
      if (c.together == 1) return reshape(all, {c.before, c.behind, 1}).value();
      return transpose(reshape(all, c.standing(1)), c.turns()).value();
    };
    if (!full) return one_per_column(r.op.type.shape);
    const Shape& own = from_.type(x).shape;
    const std::size_t skip = c.whole.size() - own.size();
    const bool varies = std::any_of(c.axes.begin(), c.axes.end(), [&](std::int64_t a) {
      const auto d = static_cast<std::size_t>(a);
      return d >= skip && own[d - skip] != 1;
    });
    if (!varies) return one_per_column(c.kept);
    return transpose(reshape(broadcast_to(r.operand(i), c.whole), c.standing(c.reduced)), c.turns()).value();
  }

  Value turned(const Rewriting& r, Value v, const ColumnGroup& c) {
    if (r.op.code == OpCode::reshape) return turned_.at(r.op.operands[0]);
    const bool reduces = is_float_reduction(from_, r.op);
    std::vector<Value> operands;
    for (std::size_t i = 0; i < r.op.operands.size(); ++i) operands.push_back(seen(r, i, reduces || is_full(v, c), c));
    if (!reduces) return r.to.add(r.op.code, std::move(operands), r.op.attrs);
    Attrs attrs = r.op.attrs;
    attrs[0] = Ints{c.axis()};
    attrs[1] = true;
    return r.to.add(r.op.code, std::move(operands), std::move(attrs));
  }

  const Graph& from_;
  std::vector<std::vector<Value>> users_;
  std::vector<int> group_of_;
  std::vector<ColumnGroup> groups_;
  std::map<Value, Value> turned_;  // of the new graph, by value of the old one
};

}  // namespace

Graph with_turned_columns(const Graph& graph) {
  ColumnTurner turner(graph);
  return turner.find_groups() ? without_dead_ops(turner.run()) : graph;
}

}  // namespace kiln::tensor
