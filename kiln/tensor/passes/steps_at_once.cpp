#include "kiln/tensor/passes/steps_at_once.h"

#include <algorithm>
#include <memory>

#include "kiln/tensor/passes/flat_joins.h"
#include "kiln/tensor/passes/recurrence.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/state_chains.h"

namespace kiln::tensor {
namespace {

constexpr std::size_t kFewestJoined = 8;
constexpr Value kMostOps = 20000;

// Rebuilds a graph from its outputs on; values of a chain come from what all its steps are at once.
class ChainBuilder {
 public:
  ChainBuilder(const Graph& graph, std::vector<StateChain> chains)
      : from_(graph), to_(graph.name), chains_(std::move(chains)), now_(graph.size()), made_(chains_.size()) {
    to_.pinned = true;
  }
  std::optional<Graph> run();

  Value emit(Value v);
  // What all steps of a chain leave, if they can be at once and are not just being made.
  std::optional<Timed> states(std::size_t chain);
  // The chain of which the lane is states that follow each other, and the first of them.
  struct Part {
    std::size_t chain, first;
  };
  std::optional<Part> chain_of(const Lane& lane) const;
  // Whether a value has to wait for a chain that is being made.
  bool waits(Value v) const {
    return std::any_of(open_.begin(), open_.end(), [&](std::size_t c) { return chains_[c].reached[v]; });
  }
  bool is_state(Value v) const {
    return std::any_of(chains_.begin(), chains_.end(), [&](const StateChain& c) {
      return std::find(c.states.begin() + 1, c.states.end(), v) != c.states.end();
    });
  }
  const StateChain& chain(std::size_t c) const { return chains_[c]; }

 private:
  std::optional<Value> state_of(Value v);
  std::optional<Value> joined(Value v);
  Steps& steps(std::int64_t n);

  const Graph& from_;
  Graph to_;
  std::vector<StateChain> chains_;
  std::vector<std::optional<Value>> now_;
  std::vector<std::optional<Timed>> made_;
  std::vector<std::size_t> open_, failed_;
  std::map<std::int64_t, std::unique_ptr<Steps>> steps_;
};

class WrittenSteps : public Steps {
 public:
  WrittenSteps(const Graph& from, Graph& to, std::int64_t steps, ChainBuilder& builder)
      : Steps(from, to, steps), builder_(builder) {}

 private:
  std::optional<Timed> leaf(const Lane& lane) override;
  Lane operand(const Lane& lane, std::size_t i) const override {
    Lane out;
    for (Value v : lane) out.push_back(from_.op(v).operands[i]);
    return out;
  }
  bool goes_deeper(const Lane& lane) const override {
    return are_alike(lane) && std::none_of(lane.begin(), lane.end(), [&](Value v) { return builder_.is_state(v); });
  }
  bool are_alike(const Lane& lane) const;
  std::optional<Timed> places(const Lane& lane);
  std::optional<Timed> numbers(const Lane& lane);
  std::optional<Timed> beside(const Lane& lane);

  ChainBuilder& builder_;
};

// Whether the ops of a lane differ in their operands at most.
bool WrittenSteps::are_alike(const Lane& lane) const {
  const Op& first = op_of(lane);
  return !first.operands.empty() && first.bodies.empty() && !first.kernel &&
         std::all_of(lane.begin(), lane.end(), [&](Value v) {
           const Op& op = from_.op(v);
           return op.code == first.code && op.type == first.type && op.attrs == first.attrs &&
                  op.operands.size() == first.operands.size();
         });
}

// Slices of one value, each one further along one axis.
std::optional<Timed> WrittenSteps::places(const Lane& lane) {
  const Op& first = op_of(lane);
  if (first.code != OpCode::slice || lane.size() < 2) return {};
  const Ints &starts = first.ints("starts"),
             &next = from_.op(lane[1]).attrs == first.attrs ? starts : std::get<Ints>(from_.op(lane[1]).attrs[0]);
  std::size_t axis = 0;
  while (axis < starts.size() && starts[axis] == next[axis]) ++axis;
  if (axis == starts.size() || first.type.shape[axis] != 1) return {};
  const std::int64_t stride = next[axis] - starts[axis];
  for (std::size_t t = 0; t < lane.size(); ++t) {
    const Op& op = from_.op(lane[t]);
    if (op.code != OpCode::slice || op.operands != first.operands || !(op.type == first.type)) return {};
    Ints expected = starts;
    expected[axis] += stride * static_cast<std::int64_t>(t);
    if (op.ints("starts") != expected || op.ints("steps") != first.ints("steps")) return {};
  }
  const Value x = first.operands[0];
  if (builder_.waits(x)) return {};
  Ints begin = starts, sizes = first.type.shape;
  begin[axis] = 0, sizes[axis] = from_.type(x).shape[axis];
  Value all_places = builder_.emit(x);
  if (sizes != from_.type(x).shape)
    all_places = to_.add(OpCode::slice, {all_places}, {begin, sizes, first.ints("steps")});
  return over().taken(all_places, static_cast<std::int64_t>(axis), starts[axis], stride);
}

std::optional<Timed> WrittenSteps::numbers(const Lane& lane) {
  const Type& type = op_of(lane).type;
  std::vector<double> out;
  for (Value v : lane) {
    const auto x = splat_of(from_, v);
    if (!x || !(from_.type(v) == type)) return {};
    out.push_back(*x);
  }
  Shape shape(type.shape.size(), 1);
  shape.push_back(over().steps());
  const Value line = to_.constant({type.dtype, shape}, std::move(out));
  return Timed{over().spread({line, true}, type.shape), true};
}

// Values that have nothing in common, side by side.
std::optional<Timed> WrittenSteps::beside(const Lane& lane) {
  std::vector<Expr> parts;
  Shape shape = op_of(lane).type.shape;
  shape.push_back(1);
  for (Value v : lane) {
    if (builder_.waits(v) || !(from_.type(v) == op_of(lane).type)) return {};
    parts.push_back(reshape(Expr(to_, builder_.emit(v)), shape));
  }
  return Timed{concat(parts, -1).value(), true};
}

std::optional<Timed> WrittenSteps::leaf(const Lane& lane) {
  const bool is_one = std::all_of(lane.begin(), lane.end(), [&](Value v) { return v == lane[0]; });
  if (is_one) return builder_.waits(lane[0]) ? std::nullopt : std::optional(Timed{builder_.emit(lane[0]), false});
  if (const auto found = builder_.chain_of(lane)) {
    const auto states = builder_.states(found->chain);
    if (!states) return {};
    const auto n = static_cast<std::int64_t>(lane.size()), first = static_cast<std::int64_t>(found->first);
    if (first > 0) return Timed{slice(Expr(to_, states->value), -1, first - 1, first - 1 + n).value(), true};
    return before(*states, builder_.emit(builder_.chain(found->chain).states[0]));
  }
  if (const auto x = numbers(lane)) return x;
  if (const auto x = places(lane)) return x;
  return are_alike(lane) ? std::nullopt : beside(lane);
}

Steps& ChainBuilder::steps(std::int64_t n) {
  auto& found = steps_[n];
  if (!found) found = std::make_unique<WrittenSteps>(from_, to_, n, *this);
  return *found;
}

std::optional<ChainBuilder::Part> ChainBuilder::chain_of(const Lane& lane) const {
  for (std::size_t c = 0; c < chains_.size(); ++c) {
    const auto& states = chains_[c].states;
    const auto first = std::find(states.begin(), states.end(), lane[0]);
    if (states.end() - first < static_cast<std::ptrdiff_t>(lane.size())) continue;
    if (std::equal(lane.begin(), lane.end(), first)) return Part{c, static_cast<std::size_t>(first - states.begin())};
  }
  return {};
}

std::optional<Timed> ChainBuilder::states(std::size_t c) {
  if (made_[c]) return made_[c];
  const auto is_listed = [&](const std::vector<std::size_t>& list) {
    return std::find(list.begin(), list.end(), c) != list.end();
  };
  if (is_listed(open_) || is_listed(failed_)) return {};
  const auto& states = chains_[c].states;
  const Value start = emit(states[0]);
  open_.push_back(c);
  made_[c] =
      steps(chains_[c].steps()).states({states.begin(), states.end() - 1}, {states.begin() + 1, states.end()}, start);
  open_.pop_back();
  if (!made_[c]) failed_.push_back(c);
  return made_[c];
}

// A state of a chain: its place in all of them.
std::optional<Value> ChainBuilder::state_of(Value v) {
  for (std::size_t c = 0; c < chains_.size(); ++c) {
    const auto& states = chains_[c].states;
    const auto it = std::find(states.begin() + 1, states.end(), v);
    const auto all = it == states.end() ? std::nullopt : this->states(c);
    if (!all) continue;
    const std::int64_t t = it - states.begin() - 1;
    return reshape(slice(Expr(to_, all->value), -1, t, t + 1), from_.type(v).shape).value();
  }
  return {};
}

// What is joined of values that all steps make of their states.
std::optional<Value> ChainBuilder::joined(Value v) {
  const Op& op = from_.op(v);
  if (op.code != OpCode::concat || op.operands.size() < kFewestJoined) return {};
  const auto is_reached = [&](const StateChain& c) { return c.reached[op.operands.back()]; };
  if (std::none_of(chains_.begin(), chains_.end(), is_reached)) return {};
  const Type& part = from_.type(op.operands[0]);
  const bool equal =
      std::all_of(op.operands.begin(), op.operands.end(), [&](Value x) { return from_.type(x) == part; });
  if (!equal) return {};
  Steps& all_steps = steps(static_cast<std::int64_t>(op.operands.size()));
  const auto all = all_steps.all(op.operands);
  if (!all) return {};
  return reshape(Expr(to_, all_steps.over().with_steps_at(*all, op.integer("axis"))), op.type.shape).value();
}

Value ChainBuilder::emit(Value v) {
  if (now_[v]) return *now_[v];
  const Op& op = from_.op(v);
  if (from_.loc(op).known()) to_.at(from_.loc(op));
  auto out = state_of(v);
  if (!out) out = joined(v);
  if (!out) {
    std::vector<Value> operands;
    for (Value x : op.operands) operands.push_back(emit(x));
    out = to_.copy(from_, op, std::move(operands));
  }
  now_[v] = out;
  return *out;
}

std::optional<Graph> ChainBuilder::run() {
  for (Value v : from_.inputs()) emit(v);
  for (Value v = 0; v < from_.size(); ++v) {  // in order, so that nothing is asked for through many others
    const bool is_late = std::any_of(chains_.begin(), chains_.end(), [&](const StateChain& c) { return c.reached[v]; });
    if (!is_late) emit(v);
  }
  for (const Output& o : from_.outputs()) to_.output(o.name, emit(o.value));
  const bool any = std::any_of(made_.begin(), made_.end(), [](const auto& m) { return m.has_value(); });
  return any ? std::optional(without_dead_ops(to_)) : std::nullopt;
}

}  // namespace

Graph with_steps_at_once(const Graph& graph) {
  if (graph.size() > kMostOps) return graph;
  const Graph flat = with_flat_joins(graph);
  auto chains = state_chains(flat);
  if (chains.empty()) return flat;
  return ChainBuilder(flat, std::move(chains)).run().value_or(flat);
}

}  // namespace kiln::tensor
