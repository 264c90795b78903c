#include "kiln/tensor/passes/loops_at_once.h"

#include <algorithm>
#include <map>

#include "kiln/tensor/ir/evaluate.h"
#include "kiln/tensor/passes/recurrence.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kFewestPasses = 4;
constexpr std::int64_t kMostState = 1 << 18;  // elements: a pass over more of them is long enough by itself

// Some passes of a loop, from `first` on, with what its operands are then.
class LoopSteps : public Steps {
 public:
  LoopSteps(const Op& loop, Graph& to, std::int64_t first, std::int64_t passes, const std::vector<Value>& operands)
      : Steps(*loop.bodies[0], to, passes),
        first_(first),
        operands_(operands),
        inputs_(from_.inputs()),
        states_(static_cast<std::size_t>(loop.integer("carried"))),
        uses_(from_.uses()) {
    for (std::size_t s = 0; s < states_; ++s) recurs_by_itself_.push_back(is_made_of(next(s), input(s)));
  }

  // Rows that the passes put into a state: `count` of them along an axis, from the place `first` on.
  struct Rows {
    std::int64_t axis = 0, first = 0;
    Value rows;
  };
  struct Left {
    Value value;  // the state behind the passes, or where they put rows into it, before them
    std::optional<Rows> rows = {};
  };
  // What the passes leave of each state; nothing where some of it has no other form.
  std::optional<std::vector<Left>> run() {
    std::vector<Left> out;
    for (std::size_t s = 0; s < states_; ++s) {
      const auto v = left(s);
      if (!v) return {};
      out.push_back(*v);
    }
    return recurs_ ? std::optional(out) : std::nullopt;
  }

 private:
  std::optional<Timed> leaf(const Lane& lane) override;
  bool goes_deeper(const Lane&) const override { return true; }
  Lane operand(const Lane& lane, std::size_t i) const override { return {op_of(lane).operands[i]}; }

  Value next(std::size_t s) const { return from_.outputs()[s].value; }
  Value input(std::size_t s) const { return inputs_[1 + s]; }
  bool is_made_of(Value v, Value of) const;
  std::optional<Left> left(std::size_t s);
  std::optional<Rows> rows_left(std::size_t s);
  std::optional<Timed> behind(std::size_t s);
  struct Places {
    std::int64_t start, stride;
  };
  std::optional<Places> places(Value v);
  std::optional<std::vector<double>> numbers(Value v);

  std::int64_t first_;
  const std::vector<Value>& operands_;
  std::vector<Value> inputs_;
  std::size_t states_;
  std::vector<int> uses_;
  std::vector<bool> recurs_by_itself_;  // by state
  bool recurs_ = false;
  std::map<std::size_t, std::optional<Timed>> behind_;
};

bool LoopSteps::is_made_of(Value v, Value of) const {
  std::vector<bool> reached(from_.size());
  reached[of] = true;
  for (Value x = of + 1; x <= v; ++x) {
    const auto& operands = from_.op(x).operands;
    reached[x] = std::any_of(operands.begin(), operands.end(), [&](Value o) { return reached[o]; });
  }
  return reached[v];
}

// An integer of each pass.
std::optional<std::vector<double>> LoopSteps::numbers(Value v) {
  const Op& op = from_.op(v);
  const auto n = over().steps();
  if (op.type.size() != 1 || is_float(op.type.dtype)) return {};
  if (const auto x = splat_of(from_, v)) return std::vector<double>(static_cast<std::size_t>(n), *x);
  if (v == inputs_[0]) {
    std::vector<double> out(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(first_ + static_cast<std::int64_t>(i));
    return out;
  }
  if (op.code == OpCode::reshape) return numbers(op.operands[0]);
  if (!is_elementwise(op.code) && op.code != OpCode::where && op.code != OpCode::cast) return {};
  std::vector<Array> arrays;
  for (Value x : op.operands) {
    auto given = numbers(x);
    if (!given) return {};
    arrays.push_back({{from_.type(x).dtype, {n}}, std::move(*given)});
  }
  std::vector<const Array*> in;
  for (const Array& a : arrays) in.push_back(&a);
  Op each = op;
  each.type.shape = {n};
  return evaluate(each, in, is_elementwise(op.code) ? working_dtype(from_, op) : op.type.dtype).data;
}

// An index that grows by the same with each pass.
std::optional<LoopSteps::Places> LoopSteps::places(Value v) {
  const auto all = numbers(v);
  if (!all) return {};
  const auto at = [&](std::size_t i) { return static_cast<std::int64_t>((*all)[i]); };
  const Places out{at(0), all->size() > 1 ? at(1) - at(0) : 1};
  for (std::size_t i = 1; i < all->size(); ++i) {
    if (at(i) - at(i - 1) != out.stride) return {};
  }
  return out;
}

std::optional<Timed> LoopSteps::leaf(const Lane& lane) {
  const Value v = lane[0];
  const Op& op = from_.op(v);
  if (op.code == OpCode::input) {
    const auto i = static_cast<std::size_t>(std::find(inputs_.begin(), inputs_.end(), v) - inputs_.begin());
    if (i == 0) {
      const Expr passes(to_, to_.iota({op.type.dtype, {over().steps()}}, 0));
      return Timed{(first_ == 0 ? passes : passes + first_).value(), true};
    }
    if (i > states_) return Timed{operands_[i - 1], false};
    if (next(i - 1) == v) return Timed{operands_[i - 1], false};
    const auto states = behind(i - 1);
    return states ? std::optional(before(*states, operands_[i - 1])) : std::nullopt;
  }
  for (std::size_t s = 0; s < states_; ++s) {
    if (next(s) == v && recurs_by_itself_[s] && op.code != OpCode::update_slice) {
      if (const auto states = behind(s)) return states;
    }
  }
  if (op.code == OpCode::iota || op.code == OpCode::constant) return Timed{to_.copy(from_, op, {}), false};
  if (op.code != OpCode::dynamic_slice || op.integer("size") != 1) return {};
  const auto x = all({op.operands[0]});
  const auto at = x && !x->varies ? places(op.operands[1]) : std::nullopt;
  if (!at) return {};
  const std::int64_t axis = op.integer("axis"), n = to_.type(x->value).shape[static_cast<std::size_t>(axis)];
  const std::int64_t last = at->start + at->stride * (over().steps() - 1);
  if (std::min(at->start, last) < 0 || std::max(at->start, last) >= n) return {};
  return over().taken(x->value, axis, at->start, at->stride);
}

// A state behind each pass.
std::optional<Timed> LoopSteps::behind(std::size_t s) {
  if (const auto it = behind_.find(s); it != behind_.end()) return it->second;
  behind_[s] = {};  // states that need each other have no such form
  if (from_.type(input(s)).size() > kMostState) return {};
  const auto out = states({input(s)}, {next(s)}, operands_[s]);
  recurs_ = recurs_ || (out && recurs_by_itself_[s]);
  return behind_[s] = out;
}

// Passes that each put a row at their own place, of which nobody reads any before the last pass.
std::optional<LoopSteps::Rows> LoopSteps::rows_left(std::size_t s) {
  const Op& update = from_.op(next(s));
  if (update.code != OpCode::update_slice || update.operands[0] != input(s)) return {};
  if (uses_[input(s)] != 1 || uses_[next(s)] != 1) return {};
  const std::int64_t axis = update.integer("axis"), n = over().steps();
  const auto extent = [&](const Shape& shape) { return shape[static_cast<std::size_t>(axis)]; };
  if (extent(from_.type(update.operands[1]).shape) != 1) return {};
  const auto at = places(update.operands[2]);
  if (!at || std::abs(at->stride) != 1) return {};
  const std::int64_t first = std::min(at->start, at->start + at->stride * (n - 1));
  if (first < 0 || first + n > extent(update.type.shape)) return {};
  const auto row = all({update.operands[1]});
  if (!row) return {};
  Shape shape = update.type.shape;
  shape[static_cast<std::size_t>(axis)] = n;
  Expr rows = reshape(Expr(to_, over().with_steps_at(*row, axis)), shape);
  if (at->stride < 0) rows = slice(rows, axis, std::nullopt, std::nullopt, -1);
  return Rows{axis, first, rows.value()};
}

std::optional<LoopSteps::Left> LoopSteps::left(std::size_t s) {
  if (next(s) == input(s)) return Left{operands_[s]};
  if (auto rows = rows_left(s)) return Left{operands_[s], std::move(rows)};
  const auto states = behind(s);
  if (!states) return {};
  const Expr all_states(to_, over().spread(*states));
  const Expr last = slice(all_states, -1, over().steps() - 1, over().steps());
  return Left{reshape(last, from_.type(input(s)).shape).value()};
}

// Whether passes add something up of their state: the sums of all passes have to fit a partition.
std::int64_t elements_together(const Op& loop) {
  const Graph& body = *loop.bodies[0];
  std::int64_t out = 1;
  for (const Op& op : body.ops()) {
    const bool adds = is_product(op.code) || (op.code >= OpCode::sum && op.code <= OpCode::variance);
    if (!adds) continue;
    for (Value x : op.operands) out = std::max(out, body.type(x).shape.empty() ? 1 : body.type(x).shape.back());
  }
  return out;
}

// A range of a value along an axis, taken from what it is joined of where that has all of it.
Expr range_of(const Expr& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  const Op& op = x.graph().op(x.value());
  if (op.code != OpCode::concat || op.integer("axis") != axis) return slice(x, axis, begin, end);
  std::int64_t at = 0;
  for (Value part : op.operands) {
    const std::int64_t n = x.graph().type(part).shape[static_cast<std::size_t>(axis)];
    if (begin >= at && end <= at + n) return slice(Expr(x.graph(), part), axis, begin - at, end - at);
    at += n;
  }
  return slice(x, axis, begin, end);
}

// A state into which several parts of the passes have put rows, side by side.
Value with_rows(Graph& to, Value state, std::vector<LoopSteps::Rows> parts) {
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::int64_t axis = parts[0].axis;
  const Expr before(to, state);
  const std::int64_t end = before.shape()[static_cast<std::size_t>(axis)];
  std::vector<Expr> joined;
  std::int64_t at = 0;
  for (const auto& part : parts) {
    if (part.first > at) joined.push_back(range_of(before, axis, at, part.first));
    joined.emplace_back(to, part.rows);
    at = part.first + joined.back().shape()[static_cast<std::size_t>(axis)];
  }
  if (at < end) joined.push_back(range_of(before, axis, at, end));
  return joined.size() == 1 ? joined[0].value() : concat(joined, axis).value();
}

// All passes, some after the others where the values of all would not fit a partition.
std::optional<std::vector<Value>> passes_at_once(const Rewriting& r) {
  constexpr std::int64_t kTogether = 6144;
  const std::int64_t count = r.op.integer("count"), each = elements_together(r.op);
  const std::int64_t most = std::max<std::int64_t>(kFewestPasses, kTogether / each), parts = (count + most - 1) / most;
  std::vector<Value> operands = r.operands;
  std::vector<std::vector<LoopSteps::Rows>> rows(operands.size());
  std::size_t states = 0;
  for (std::int64_t p = 0; p < (each == 1 ? 1 : parts); ++p) {
    const std::int64_t first = each == 1 ? 0 : count * p / parts, end = each == 1 ? count : count * (p + 1) / parts;
    const auto left = LoopSteps(r.op, r.to, first, end - first, operands).run();
    if (!left) return {};
    states = left->size();
    for (std::size_t s = 0; s < states; ++s) {
      operands[s] = (*left)[s].value;
      if ((*left)[s].rows) rows[s].push_back(*(*left)[s].rows);
    }
  }
  for (std::size_t s = 0; s < states; ++s) {
    if (!rows[s].empty()) operands[s] = with_rows(r.to, operands[s], std::move(rows[s]));
  }
  operands.resize(states);
  return operands;
}

}  // namespace

Graph with_loops_at_once(const Graph& graph) {
  std::map<Value, std::vector<Value>> left;  // by loop of the old graph
  Value next = 0;
  const Graph out = rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    const Value v = next++;
    if (r.op.code == OpCode::result) {
      const auto it = left.find(r.op.operands[0]);
      return it == left.end() ? std::nullopt : std::optional(it->second[r.op.integer("index")]);
    }
    if (r.op.code != OpCode::for_loop || r.op.integer("count") < kFewestPasses) return {};
    const auto values = passes_at_once(r);
    if (!values) return {};
    left[v] = *values;
    return values->front();
  });
  return left.empty() ? graph : without_dead_ops(out);
}

}  // namespace kiln::tensor
