// The oracle on several ranks: op by op, collectives on the arrays of all of them, also in loops and branches.
#include "kiln/tensor/ir/evaluate_ranks.h"

#include <algorithm>
#include <numeric>

#include "kiln/tensor/ir/collective.h"

namespace kiln::tensor {
namespace {

bool meets(const Op& op) {
  return is_collective(op.code) ||
         std::ranges::any_of(op.bodies, [](const Body& body) { return std::ranges::any_of(body->ops(), meets); });
}

std::vector<Arrays> run(const Graph& graph, const std::vector<Arrays>& inputs, const Team& team);

// A body on each rank of the team.
std::vector<Results> run_body(const Graph& body, const std::vector<Given>& given, const Team& team) {
  std::vector<Arrays> inputs(given.size());
  const std::vector<Value> at = body.inputs();
  for (std::size_t rank = 0; rank < given.size(); ++rank)
    for (std::size_t i = 0; i < at.size(); ++i) inputs[rank][body.op(at[i]).text("name")] = *given[rank][i];
  std::vector<Results> out;
  for (const Arrays& outputs : run(body, inputs, team)) {
    Results& own = out.emplace_back();
    for (const Output& o : body.outputs()) own.push_back(outputs.at(o.name));
  }
  return out;
}

// The same on those of the team that `chosen` names; the others keep what `out` has of them.
void run_some(const Graph& body, const std::vector<Given>& given, const Team& team, const std::vector<bool>& chosen,
              std::vector<Results>& out) {
  Team some{{}, team.of};
  std::vector<Given> own;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    some.ranks.push_back(team.ranks[i]);
    own.push_back(given[i]);
  }
  if (own.empty()) return;
  std::vector<Results> results = run_body(body, own, some);
  for (std::size_t i = 0, next = 0; i < chosen.size(); ++i)
    if (chosen[i]) out[i] = std::move(results[next++]);
}

class Loop {
 public:
  Loop(const Op& op, const std::vector<Given>& in, const Team& team) : op_(op), in_(in), team_(team) {
    const auto carried = static_cast<std::ptrdiff_t>(op.integer("carried"));
    for (const Given& own : in) {
      Results& state = state_.emplace_back();
      for (std::ptrdiff_t i = 0; i < carried; ++i) state.push_back(*own[static_cast<std::size_t>(i)]);
    }
  }

  std::vector<Results> counted() {
    for (std::int64_t i = 0; i < op_.integer("count"); ++i) {
      const Array pass{{DType::int32, {}}, {static_cast<double>(i)}};
      std::vector<Given> all = given();
      for (Given& own : all) own.insert(own.begin(), &pass);
      state_ = run_body(*op_.bodies[0], all, team_);
    }
    return std::move(state_);
  }

  // A rank that has left the loop is in no pass any more.
  std::vector<Results> conditional() {
    std::vector<bool> inside(in_.size(), true);
    while (true) {
      std::vector<Results> goes_on(in_.size());
      run_some(*op_.bodies[0], given(), team_, inside, goes_on);
      for (std::size_t i = 0; i < inside.size(); ++i) inside[i] = inside[i] && goes_on[i][0].data[0] != 0;
      if (std::ranges::find(inside, true) == inside.end()) return std::move(state_);
      std::vector<Results> next = state_;
      run_some(*op_.bodies[1], given(), team_, inside, next);
      state_ = std::move(next);
    }
  }

 private:
  std::vector<Given> given() const {
    std::vector<Given> out;
    for (std::size_t rank = 0; rank < in_.size(); ++rank) {
      Given& own = out.emplace_back();
      for (const Array& s : state_[rank]) own.push_back(&s);
      own.insert(own.end(), in_[rank].begin() + std::ssize(state_[rank]), in_[rank].end());
    }
    return out;
  }

  const Op& op_;
  const std::vector<Given>& in_;
  const Team& team_;
  std::vector<Results> state_;
};

std::vector<Results> branched(const Op& op, const std::vector<Given>& in, const Team& team) {
  std::vector<Results> out(in.size());
  std::vector<Given> given;
  std::vector<bool> yes, no;
  for (const Given& own : in) {
    given.emplace_back(own.begin() + 1, own.end());
    yes.push_back(own[0]->data[0] != 0);
    no.push_back(!yes.back());
  }
  run_some(*op.bodies[0], given, team, yes, out);
  run_some(*op.bodies[1], given, team, no, out);
  return out;
}

// An op with bodies in which ranks meet.
std::vector<Results> results_of_ranks(const Op& op, const std::vector<Given>& in, const Team& team) {
  if (op.code == OpCode::call) return run_body(*op.bodies[0], in, team);
  if (op.code == OpCode::branch) return branched(op, in, team);
  return op.code == OpCode::for_loop ? Loop(op, in, team).counted() : Loop(op, in, team).conditional();
}

std::vector<Arrays> run(const Graph& graph, const std::vector<Arrays>& inputs, const Team& team) {
  std::vector<Evaluation> ranks;
  for (const Arrays& own : inputs) ranks.emplace_back(graph, own);
  for (const Op& op : graph.ops()) {
    if (!meets(op)) {
      for (Evaluation& rank : ranks) rank.add(op);
      continue;
    }
    std::vector<Given> in(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r)
      for (const Value v : op.operands) in[r].push_back(&ranks[r].value(v));
    if (!is_collective(op.code)) {
      std::vector<Results> results = results_of_ranks(op, in, team);
      for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].add_results(std::move(results[r]));
      continue;
    }
    std::vector<Results> met = meet(op, in, team);
    for (std::size_t r = 0; r < ranks.size(); ++r)
      met[r].size() > 1 ? ranks[r].add_results(std::move(met[r])) : ranks[r].add(std::move(met[r][0]));
  }
  std::vector<Arrays> outputs;
  for (const Evaluation& rank : ranks) outputs.push_back(rank.outputs());
  return outputs;
}

}  // namespace

std::vector<Arrays> evaluate(const Graph& graph, const std::vector<Arrays>& inputs) {
  Team all{std::vector<std::int64_t>(inputs.size()), std::ssize(inputs)};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  return run(graph, inputs, all);
}

}  // namespace kiln::tensor
