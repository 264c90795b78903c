#include "kiln/tensor/passes/state_chains.h"

#include <algorithm>

namespace kiln::tensor {
namespace {

constexpr std::size_t kFewestSteps = 8, kMostDepth = 6, kMostChains = 32;
constexpr std::int64_t kMostState = 1 << 15;  // elements

using Path = std::vector<std::size_t>;  // of operands, from a state to the one before it

bool is_step_op(OpCode code) {
  return code == OpCode::add || code == OpCode::subtract || code == OpCode::multiply || code == OpCode::divide ||
         code == OpCode::maximum || code == OpCode::minimum || code == OpCode::cast;
}

class ChainFinder {
 public:
  explicit ChainFinder(const Graph& graph) : graph_(graph), uses_(graph.uses()), taken_(graph.size()) {}

  std::vector<StateChain> run() {
    std::vector<StateChain> out;
    for (Value v = graph_.size(); v-- > 0 && out.size() < kMostChains;) {
      if (taken_[v] || !is_step_op(graph_.op(v).code) || graph_.type(v).size() > kMostState) continue;
      best_ = {};
      Path path;
      look(v, v, path);
      if (best_.states.size() <= kFewestSteps) continue;
      take();
      if (only_adds_up()) continue;
      std::reverse(best_.states.begin(), best_.states.end());
      find_reached();
      out.push_back(std::move(best_));
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  // Below v, where `state` may be a state: what could be the one before it.
  void look(Value state, Value v, Path& path) {
    const Op& op = graph_.op(v);
    if (path.size() == kMostDepth || !is_step_op(op.code)) return;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const Value x = op.operands[i];
      path.push_back(i);
      if (graph_.op(x).code == graph_.op(state).code && graph_.type(x) == graph_.type(state)) follow(state, path);
      if (graph_.type(x).shape == graph_.type(state).shape) look(state, x, path);
      path.pop_back();
    }
  }

  // The states before `state` along a path, the last one first.
  void follow(Value state, const Path& path) {
    std::vector<Value> states{state};
    for (Value now = state;;) {
      Value v = now, like = state;
      bool fits = true;
      for (std::size_t i : path) {
        const Op &op = graph_.op(v), &other = graph_.op(like);
        fits = op.code == other.code && op.type == other.type;
        if (!fits) break;
        v = op.operands[i], like = other.operands[i];
      }
      if (!fits || !(graph_.type(v) == graph_.type(state))) break;
      states.push_back(now = v);
    }
    if (states.size() > best_.states.size()) best_.states = std::move(states), path_ = path;
  }

  // What lies between two states belongs to no other chain.
  void take() {
    for (std::size_t s = 0; s + 1 < best_.states.size(); ++s) take_between(best_.states[s], best_.states[s + 1], 0);
  }
  bool take_between(Value v, Value before, std::size_t depth) {
    if (v == before) return true;
    if (depth == kMostDepth || v < before || !is_step_op(graph_.op(v).code)) return false;
    for (Value x : graph_.op(v).operands) {
      if (take_between(x, before, depth + 1)) taken_[v] = true;
    }
    return taken_[v];
  }

  // A sum of many terms, of which nobody reads the sums on the way.
  bool only_adds_up() const {
    for (std::size_t s = 0; s + 1 < best_.states.size(); ++s) {
      Value v = best_.states[s];
      for (std::size_t i : path_) {
        const OpCode code = graph_.op(v).code;
        const bool adds = code == OpCode::add || code == OpCode::maximum || code == OpCode::minimum ||
                          code == OpCode::cast || (code == OpCode::subtract && i == 0);
        if (!adds || (s > 0 && uses_[v] > 1)) return false;
        v = graph_.op(v).operands[i];
      }
    }
    return true;
  }

  void find_reached() {
    best_.reached.assign(graph_.size(), false);
    for (std::size_t s = 1; s < best_.states.size(); ++s) best_.reached[best_.states[s]] = true;
    for (Value v = best_.states[1]; v < graph_.size(); ++v) {
      const auto& operands = graph_.op(v).operands;
      if (std::any_of(operands.begin(), operands.end(), [&](Value x) { return best_.reached[x]; }))
        best_.reached[v] = true;
    }
  }

  const Graph& graph_;
  std::vector<int> uses_;
  std::vector<bool> taken_;
  StateChain best_;
  Path path_;
};

}  // namespace

std::vector<StateChain> state_chains(const Graph& graph) { return ChainFinder(graph).run(); }

}  // namespace kiln::tensor
