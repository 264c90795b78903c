#include "kiln/tensor/passes/norm_group.h"

#include <algorithm>

#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

bool is_by_elements(OpCode code) { return is_elementwise(code) || code == OpCode::where || code == OpCode::cast; }

class Grower {
 public:
  Grower(const Graph& graph, Value start) : g_(graph), users_(graph.size()), start_(start) {
    for (Value v = 0; v < graph.size(); ++v) {
      for (Value x : graph.op(v).operands) users_[x].push_back(v);
    }
  }

  std::optional<NormGroup> run() {
    const Op& op = g_.op(start_);
    const Value x = op.operands[0];
    out_.rows = op.type.size();
    if (out_.rows < 1 || g_.type(x).size() <= out_.rows) return {};
    out_.elements = g_.type(x).size() / out_.rows;
    if (!refine(g_.type(x).shape)) return {};
    out_.columns.insert(start_);
    wave_.push_back(start_);
    grow_up(x);
    for (Value u : users_[x]) {
      if (is_norm_reduction(g_, g_.op(u)) && is_column(u)) take(u, out_.columns);
    }
    while (!wave_.empty()) {
      const Value v = wave_.back();
      wave_.pop_back();
      for (Value u : users_[v]) add_user(u, v);
    }
    if (!find_dimensions()) return {};
    drop_others();
    for (Value v : out_.whole) note(v);
    return std::move(out_);
  }

 private:
  std::int64_t all() const { return out_.rows * out_.elements; }
  bool is_whole(Value v) const { return g_.type(v).size() == all(); }
  bool is_column(Value v) const { return g_.type(v).size() == out_.rows; }

  // Where dimensions of whole values begin, counted from the end: each has to divide the next one.
  bool refine(const Shape& shape) {
    std::int64_t n = 1;
    std::set<std::int64_t> cuts = cuts_;
    for (std::size_t d = shape.size(); d-- > 0;) cuts.insert(n *= shape[d]);
    std::int64_t last = 1;
    for (std::int64_t cut : cuts) {
      if (cut % last != 0) return false;
      last = cut;
    }
    cuts_ = std::move(cuts);
    return true;
  }

  void take(Value v, std::set<Value>& into) {
    if (into.insert(v).second) wave_.push_back(v);
  }

  // What whole values are made of.
  void grow_up(Value x) {
    const OpCode code = g_.op(x).code;
    if (!is_whole(x) || (!is_by_elements(code) && code != OpCode::reshape) || out_.whole.contains(x)) return;
    if (!is_by_elements(code) && !is_by_elements(g_.op(g_.op(x).operands[0]).code)) return;
    if (!refine(g_.type(x).shape)) return;
    take(x, out_.whole);
    for (Value y : g_.op(x).operands) grow_up(y);
  }

  void add_user(Value u, Value v) {
    const Op& op = g_.op(u);
    if (out_.has(u)) return;
    const bool from_whole = out_.whole.contains(v);
    if (is_norm_reduction(g_, op)) {
      if (from_whole && is_column(u)) take(u, out_.columns);
      return;
    }
    if (op.code == OpCode::reshape && is_column(u) && !from_whole) return take(u, out_.columns);
    if (op.code == OpCode::reshape && from_whole && refine(op.type.shape)) return take(u, out_.whole);
    if (!is_by_elements(op.code)) return;
    if (is_column(u) && !from_whole) return take(u, out_.columns);
    if (!is_whole(u) || !refine(op.type.shape)) return;
    take(u, out_.whole);
    for (Value y : op.operands) grow_up(y);
  }

  // The dimensions of the first reduction, in those that all have.
  bool find_dimensions() {
    std::int64_t last = 1;
    for (std::int64_t cut : cuts_) {
      if (cut != last) out_.fine.insert(out_.fine.begin(), cut / last);
      last = cut;
    }
    out_.goes = flags_of(g_.type(g_.op(start_).operands[0]).shape, g_.op(start_).ints("axes"));
    return std::find(out_.goes.begin(), out_.goes.end(), true) != out_.goes.end();
  }

  std::vector<bool> flags_of(const Shape& shape, const Ints& axes) const {
    std::vector<bool> out(out_.fine.size(), false);
    std::size_t f = out_.fine.size();
    for (std::size_t d = shape.size(); d-- > 0;) {
      const bool goes = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
      for (std::int64_t n = shape[d]; n > 1; n /= out_.fine[f]) out[--f] = goes;
    }
    return out;
  }

  // Whether an operand of a whole value with this shape has one element for each row, at its row.
  bool stands_right(Value x, const Shape& shape) const {
    const Shape& own = g_.type(x).shape;
    const std::size_t skip = shape.size() - own.size();
    std::size_t f = out_.fine.size();
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t here = d < skip ? 1 : own[d - skip];
      for (std::int64_t n = shape[d]; n > 1; n /= out_.fine[f]) {
        --f;
        if (here != (out_.goes[f] ? 1 : shape[d])) return false;
      }
    }
    return true;
  }

  bool fits(Value v) const {
    const Op& op = g_.op(v);
    const bool whole = out_.whole.contains(v);
    if (is_norm_reduction(g_, op) && !whole)
      return flags_of(g_.type(op.operands[0]).shape, op.ints("axes")) == out_.goes;
    return std::all_of(op.operands.begin(), op.operands.end(), [&](Value x) {
      if (out_.columns.contains(x)) return !whole || stands_right(x, op.type.shape);
      return !out_.whole.contains(x) || whole;
    });
  }

  // What reads something in another way, and what is made of it, is not of the group.
  void drop_others() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto* set : {&out_.whole, &out_.columns}) {
        for (auto it = set->begin(); it != set->end();) {
          const Op& op = g_.op(*it);
          const bool column = set == &out_.columns && !is_norm_reduction(g_, op);
          const auto is_mine = [&](Value x) { return out_.columns.contains(x); };
          const bool cut_off = column && std::none_of(op.operands.begin(), op.operands.end(), is_mine);
          const bool stays = fits(*it) && !cut_off && (set == &out_.columns || !is_wanted_before(*it));
          it = stays ? std::next(it) : set->erase(it);
          changed = changed || !stays;
        }
      }
    }
  }

  // Whether somebody else reads a whole value that is made of no reduction: it is read as it lies.
  bool is_wanted_before(Value v) const {
    const auto has = [&](Value x) { return out_.columns.contains(x) || out_.whole.contains(x); };
    if (std::any_of(g_.op(v).operands.begin(), g_.op(v).operands.end(), has)) return false;
    const auto is_this = [&](const Output& o) { return o.value == v; };
    return std::any_of(g_.outputs().begin(), g_.outputs().end(), is_this) ||
           std::any_of(users_[v].begin(), users_[v].end(), [&](Value u) { return !out_.has(u); });
  }

  void note(Value v) {
    for (Value x : g_.op(v).operands) out_.comes_back = out_.comes_back || out_.columns.contains(x);
    for (Value u : users_[v]) out_.is_closed = out_.is_closed && (out_.has(u) || is_view(g_.op(u).code));
  }

  const Graph& g_;
  std::vector<std::vector<Value>> users_;
  Value start_;
  NormGroup out_;
  std::set<std::int64_t> cuts_{1};
  std::vector<Value> wave_;
};

}  // namespace

bool is_norm_reduction(const Graph& graph, const Op& op) {
  switch (op.code) {
    case OpCode::sum:
    case OpCode::max:
    case OpCode::min:
    case OpCode::mean:
    case OpCode::variance:
      return is_float(graph.type(op.operands[0]).dtype) && !op.ints("axes").empty();
    default:
      return false;
  }
}

std::optional<NormGroup> norm_group_of(const Graph& graph, Value reduction) { return Grower(graph, reduction).run(); }

bool goes_in_parts(const NormGroup& group) {
  constexpr std::int64_t kLanes = 128, kHalf = 64, kMostElements = 6144, kFewestElements = 128;
  if (!group.comes_back || !group.is_closed) return false;
  std::int64_t length = 1;  // of the first dimension behind the rows
  for (std::size_t d = group.fine.size(); d-- > 0;) length = group.goes[d] ? group.fine[d] : length;
  for (std::int64_t parts = 1; parts <= std::min(kLanes, length); ++parts) {
    const std::int64_t lanes = std::min(group.rows, kLanes / parts) * parts, each = group.elements / parts;
    if (length % parts == 0 && lanes >= kHalf && each >= kFewestElements && each <= kMostElements) return true;
  }
  return false;
}

namespace {

// The group of a reduction that goes in parts.
std::optional<NormGroup> parted_group_of(const Graph& graph, Value reduction) {
  constexpr std::int64_t kLongRow = 2048;
  const Op& op = graph.op(reduction);
  if (!is_norm_reduction(graph, op) || graph.type(op.operands[0]).size() < kLongRow * op.type.size()) return {};
  auto group = norm_group_of(graph, reduction);
  const bool in_front = group && std::is_sorted(group->goes.begin(), group->goes.end());
  return in_front && goes_in_parts(*group) ? std::move(group) : std::nullopt;
}

}  // namespace

bool is_reduced_in_parts(const Graph& graph, Value reduction) { return parted_group_of(graph, reduction).has_value(); }

std::set<Value> reduced_in_parts(const Graph& graph) {
  std::set<Value> out;
  for (Value v = 0; v < graph.size(); ++v) {
    if (out.contains(v)) continue;
    const auto group = parted_group_of(graph, v);
    if (!group) continue;
    out.insert(group->whole.begin(), group->whole.end());
    out.insert(group->columns.begin(), group->columns.end());
  }
  return out;
}

}  // namespace kiln::tensor
