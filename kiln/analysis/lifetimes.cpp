#include "kiln/analysis/lifetimes.h"

#include "kiln/isa/table.h"

namespace kiln::analysis {
using namespace isa;

Lifetimes::Lifetimes(const Program& program) : places_(program.tensors.size()) {
  walk(program, program.body);
  base_.push_back(0);
  std::size_t statements = program.body.size();
  for (const Loop& loop : program.loops) {
    base_.push_back(statements);
    statements += loop.body.size();
  }
  first_.assign(statements + 1, 0);
  for (const Place& p : places_) {
    if (p.declared) ++first_[base_[p.block] + p.last + 1];
  }
  for (std::size_t i = 0; i < statements; ++i) first_[i + 1] += first_[i];
  dying_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (TensorId id = 0; id < places_.size(); ++id) {
    const Place& p = places_[id];
    if (p.declared) dying_[next[base_[p.block] + p.last]++] = id;
  }
}

void Lifetimes::use(const Program& program, const Access& access) {
  if (access.dynamic != kNone) {
    const Dynamic& d = program.dynamics[access.dynamic];
    if (d.kind != Dynamic::Kind::scalar_register) use(program, program.accesses[d.source]);
  }
  Place& p = places_[access.tensor];
  if (p.declared) p.last = path_[p.depth];
}

void Lifetimes::walk(const Program& program, const Block& block) {
  const std::size_t depth = path_.size();
  path_.push_back(0);
  for (std::size_t i = 0; i < block.size(); ++i) {
    path_[depth] = i;
    const Node& node = block[i];
    if (node.kind == Node::Kind::declare) {
      places_[node.index] = {depth, block_, i, true};
    } else if (node.kind == Node::Kind::loop) {
      const std::size_t outer = block_;
      block_ = node.index + 1;
      walk(program, program.loops[node.index].body);
      block_ = outer;
    } else {
      const Instruction& inst = program.instructions[node.index];
      const std::size_t params = info(inst.opcode).params.size();
      for (std::size_t a = 0; a < params; ++a) {
        const Arg& arg = program.arg(inst, static_cast<int>(a));
        if (arg.kind == Arg::Kind::access) use(program, program.accesses[arg.index]);
        if (arg.kind == Arg::Kind::accesses) {
          for (std::uint32_t k = 0; k < arg.count; ++k) use(program, program.accesses[arg.index + k]);
        }
      }
    }
  }
  path_.pop_back();
}

std::span<const TensorId> Lifetimes::after(LoopId loop, std::size_t position) const {
  const std::size_t statement = base_[loop == kNone ? 0 : loop + 1] + position;
  return {dying_.data() + first_[statement], first_[statement + 1] - first_[statement]};
}

}  // namespace kiln::analysis
