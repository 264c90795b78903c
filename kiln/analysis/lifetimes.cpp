#include "kiln/analysis/lifetimes.h"

#include "kiln/analysis/liveness.h"
#include "kiln/analysis/statements.h"

namespace kiln::analysis {
using namespace isa;

namespace {

std::size_t block_of(LoopId loop) { return loop == kNone ? 0 : loop + 1; }

// A statement by its block and its place there.
struct Death {
  std::size_t block = 0;
  std::uint32_t index = 0;
  bool is_known = false;  // of tensors that are declared
};

// By tensor: the statement of the block that declares it in which its last use lies.
std::vector<Death> find_deaths(const Program& program) {
  const Liveness uses = use_intervals(program);
  std::vector<TensorId> ending(uses.nodes.size(), kNone), next(program.tensors.size(), kNone);
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    if (uses.tensors[id].empty()) continue;
    TensorId& head = ending[uses.tensors[id].end];
    next[id] = head;
    head = id;
  }
  std::vector<Death> deaths(program.tensors.size());
  std::vector<std::uint32_t> open(program.loops.size() + 1);  // by block: its statement that the walk is in
  Position now = 0;
  for_each_statement(program, [&](const Statement& s) {
    open[block_of(s.loop)] = s.index;
    if (s.is_declaration()) deaths[s.node.index] = {block_of(s.loop), s.index, true};
    for (TensorId id = ending[now]; id != kNone; id = next[id]) deaths[id].index = open[deaths[id].block];
    ++now;
  });
  return deaths;
}

}  // namespace

Lifetimes::Lifetimes(const Program& program) {
  base_.push_back(0);
  std::size_t statements = program.body.size();
  for (const Loop& loop : program.loops) {
    base_.push_back(statements);
    statements += loop.body.size();
  }
  const std::vector<Death> deaths = find_deaths(program);
  first_.assign(statements + 1, 0);
  for (const Death& d : deaths) {
    if (d.is_known) ++first_[base_[d.block] + d.index + 1];
  }
  for (std::size_t i = 0; i < statements; ++i) first_[i + 1] += first_[i];
  dying_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (TensorId id = 0; id < deaths.size(); ++id) {
    if (deaths[id].is_known) dying_[next[base_[deaths[id].block] + deaths[id].index]++] = id;
  }
}

std::span<const TensorId> Lifetimes::after(LoopId loop, std::size_t position) const {
  const std::size_t statement = base_[block_of(loop)] + position;
  return {dying_.data() + first_[statement], first_[statement + 1] - first_[statement]};
}

}  // namespace kiln::analysis
