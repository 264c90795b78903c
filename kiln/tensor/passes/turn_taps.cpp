#include "kiln/tensor/passes/turn_taps.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr std::size_t kFewestTaps = 3;
constexpr std::int64_t kFewestChannels = 64, kFewestPlaces = 64;
constexpr std::int64_t kMostBytes = 16384;  // of what is shifted, on a partition

// A sum of taps and what is made of it: the shape that all have, and the dimensions before the first one that shifts.
struct TapGroup {
  Shape shape;
  std::size_t before = 0;

  std::size_t rank() const { return shape.size(); }
  // From (before, window, channels) to (before, channels, window), and back.
  Ints turns() const {
    Ints out;
    for (std::size_t d = 0; d < before; ++d) out.push_back(static_cast<std::int64_t>(d));
    out.push_back(static_cast<std::int64_t>(rank()) - 1);
    for (std::size_t d = before; d + 1 < rank(); ++d) out.push_back(static_cast<std::int64_t>(d));
    return out;
  }
  Ints turns_back() const {
    Ints out(rank());
    const Ints to = turns();
    for (std::size_t d = 0; d < rank(); ++d) out[static_cast<std::size_t>(to[d])] = static_cast<std::int64_t>(d);
    return out;
  }
};

bool is_per_element(OpCode code) { return is_elementwise(code) || code == OpCode::where || code == OpCode::cast; }

class TapTurner {
 public:
  explicit TapTurner(const Graph& graph)
      : from_(graph), uses_(graph.uses()), users_(graph.size()), group_of_(graph.size(), -1), now_(graph.size()) {
    for (Value v = 0; v < graph.size(); ++v) {
      for (Value x : graph.op(v).operands) users_[x].push_back(v);
    }
  }

  bool find_groups() {
    for (Value v = from_.size(); v-- > 0;) {
      if (group_of_[v] < 0) find_group(v);
    }
    return !groups_.empty();
  }

  Graph run() {
    Value next = 0;
    return rebuilt(from_, [&](const Rewriting& r) -> std::optional<Value> {
      const Value v = next++;
      for (std::size_t i = 0; i < r.operands.size(); ++i) now_[r.op.operands[i]] = r.operands[i];
      if (group_of_[v] < 0) return {};
      to_ = &r.to;
      return transpose(Expr(r.to, turned(v, group_of_[v])), groups_[group_of_[v]].turns_back()).value();
    });
  }

 private:
  // The slice of a tap: a factor per channel times it.
  std::optional<Value> slice_of(Value v, const Shape& shape) const {
    const Op& op = from_.op(v);
    if (op.code != OpCode::multiply || op.type.shape != shape || uses_[v] != 1) return {};
    for (std::size_t i : {0, 1}) {
      const Value x = op.operands[i], by = op.operands[1 - i];
      if (from_.type(x).shape == shape && is_shifted(x) && is_per_channel(by, shape)) return x;
    }
    return {};
  }
  // Whether only places before the channels are left out.
  bool is_shifted(Value v) const {
    const Op& op = from_.op(v);
    if (op.code != OpCode::slice) return false;
    const Ints& steps = op.ints("steps");
    return op.type.shape.back() == from_.type(op.operands[0]).shape.back() &&
           std::all_of(steps.begin(), steps.end(), [](std::int64_t s) { return s == 1; });
  }
  bool is_per_channel(Value v, const Shape& shape) const {
    const Shape& own = from_.type(v).shape;
    return !own.empty() && own.back() == shape.back() && product(own) == shape.back() && !splat_of(from_, v);
  }

  void gather(Value v, std::vector<Value>& sums, std::vector<Value>& slices) const {
    sums.push_back(v);
    for (Value x : from_.op(v).operands) {
      const Op& op = from_.op(x);
      if (op.code == OpCode::add && uses_[x] == 1 && op.type == from_.type(v))
        gather(x, sums, slices);
      else if (const auto s = slice_of(x, from_.type(v).shape))
        slices.push_back(*s);
    }
  }

  void find_group(Value v) {
    const Op& op = from_.op(v);
    const Shape& shape = op.type.shape;
    if (op.code != OpCode::add || !is_float(op.type.dtype) || shape.size() < 2 || shape.back() < kFewestChannels)
      return;
    std::vector<Value> sums, slices;
    gather(v, sums, slices);
    if (slices.size() < kFewestTaps) return;
    const Value base = from_.op(slices[0]).operands[0];
    TapGroup group{shape, shape.size() - 1};
    for (Value s : slices) {
      if (from_.op(s).operands[0] != base) return;
      const Shape& whole = from_.type(base).shape;
      for (std::size_t d = 0; d < group.before; ++d) {
        if (whole[d] != shape[d]) group.before = d;
      }
    }
    const Type& whole = from_.type(base);
    const std::int64_t places = product(shape, group.before, shape.size() - 1),
                       reach = product(whole.shape, group.before, shape.size() - 1);
    if (group.before + 1 == shape.size() || places < kFewestPlaces) return;
    if (reach * size_bytes(whole.dtype) > kMostBytes) return;
    const int index = static_cast<int>(groups_.size());
    groups_.push_back(group);
    for (Value s : sums) group_of_[s] = index;
    for (Value s : slices) group_of_[users_[s].back()] = index;
    for (Value s : sums) take_products(s, index);
    grow(v, index);
  }

  void take_products(Value sum, int index) {
    for (Value x : from_.op(sum).operands) {
      if (slice_of(x, groups_[index].shape)) group_of_[x] = index;
    }
  }

  // What is made of the sum element by element, of nothing else but what is given and one value per channel.
  void grow(Value v, int index) {
    const Shape& shape = groups_[index].shape;
    const auto fits = [&](Value x) {
      const OpCode code = from_.op(x).code;
      return group_of_[x] == index || splat_of(from_, x) || is_per_channel(x, shape) ||
             (code == OpCode::input && from_.type(x).shape == shape);
    };
    for (Value u = v + 1; u < from_.size(); ++u) {
      const Op& op = from_.op(u);
      if (group_of_[u] >= 0 || !is_per_element(op.code) || op.type.shape != shape || !is_float(op.type.dtype)) continue;
      const auto is_mine = [&](Value x) { return group_of_[x] == index; };
      if (std::any_of(op.operands.begin(), op.operands.end(), is_mine) &&
          std::all_of(op.operands.begin(), op.operands.end(), fits))
        group_of_[u] = index;
    }
  }

  // A value with channels before the window, in the new graph.
  Value turned(Value v, int index) {
    const auto key = std::pair(v, index);
    if (const auto it = turned_.find(key); it != turned_.end()) return it->second;
    return turned_[key] = make_turned(v, index);
  }

  Value make_turned(Value v, int index) {
    const Op& op = from_.op(v);
    const TapGroup& group = groups_[index];
    const Ints turns = group.turns();
    const auto in_order = [&](const Ints& x) {
      Ints out;
      for (std::int64_t d : turns) out.push_back(x[static_cast<std::size_t>(d)]);
      return out;
    };
    if (group_of_[v] == index) {
      std::vector<Value> operands;
      for (Value x : op.operands) operands.push_back(operand(x, index));
      return to_->add(op.code, std::move(operands), op.attrs);
    }
    if (op.code == OpCode::slice && is_shifted(v)) {
      const Value x = sliced(op.operands[0], index);
      return to_->add(OpCode::slice, {x},
                      {in_order(op.ints("starts")), in_order(op.ints("sizes")), in_order(op.ints("steps"))});
    }
    const auto axis = op.code == OpCode::concat ? op.integer("axis") : 0;
    if (op.code == OpCode::concat && axis + 1 < op.type.rank()) {
      std::vector<Value> parts;
      for (Value x : op.operands) parts.push_back(splat_of(from_, x) ? number(x, in_order) : turned(x, index));
      return to_->add(OpCode::concat, std::move(parts),
                      {static_cast<std::int64_t>(std::find(turns.begin(), turns.end(), axis) - turns.begin())});
    }
    return transpose(Expr(*to_, *now_[v]), turns).value();
  }

  template <class InOrder>
  Value number(Value v, const InOrder& in_order) {
    const Type& type = from_.type(v);
    return to_->constant({type.dtype, in_order(type.shape)}, {*splat_of(from_, v)});
  }

  // What slices are taken of lies on the chip.
  Value sliced(Value x, int index) {
    const Value all = turned(x, index);
    if (!is_view(to_->op(all).code)) return all;
    Value& copy = copies_[{x, index}];
    if (copy == 0) copy = to_->add(OpCode::cast, {all}, {to_->type(all).dtype});
    return copy;
  }

  Value operand(Value x, int index) {
    const TapGroup& group = groups_[index];
    if (splat_of(from_, x)) return *now_[x];
    if (!is_per_channel(x, group.shape)) return turned(x, index);
    Shape shape(group.rank() - group.before, 1);
    shape[0] = group.shape.back();
    return reshape(Expr(*to_, *now_[x]), shape).value();
  }

  const Graph& from_;
  std::vector<int> uses_;
  std::vector<std::vector<Value>> users_;
  std::vector<int> group_of_;
  std::vector<std::optional<Value>> now_;  // values of the old graph that have been operands
  std::vector<TapGroup> groups_;
  std::map<std::pair<Value, int>, Value> turned_, copies_;
  Graph* to_ = nullptr;
};

}  // namespace

Graph with_turned_taps(const Graph& graph) {
  TapTurner turner(graph);
  return turner.find_groups() ? without_dead_ops(turner.run()) : graph;
}

}  // namespace kiln::tensor
