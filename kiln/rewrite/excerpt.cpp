#include "kiln/rewrite/excerpt.h"

#include <algorithm>
#include <cmath>

#include "kiln/analysis/trips.h"
#include "kiln/isa/table.h"

namespace kiln::rewrite {
namespace {
using namespace isa;

class Cutter {
 public:
  Cutter(const Program& from, std::span<const std::int64_t> trips)
      : from_(from),
        trips_(trips),
        tensor_(from.tensors.size(), kNone),
        loop_(from.loops.size(), kNone),
        instruction_(from.deps.empty() ? 0 : from.instructions.size(), kNone) {
    to_.name = from.name;
    to_.target = from.target;
    to_.nki = from.nki;
    to_.lnc = from.lnc;
    to_.fragment = true;
    to_.registers = from.registers;
  }

  Excerpt cut(std::size_t first, double budget) && {
    Block body;
    double left = budget;
    for (std::size_t i = first; i < from_.body.size() && left > 0; ++i) left -= add(body, from_.body[i], left, 1);
    declare_what_is_used(body, first);
    made_.executed = budget - left;
    made_.program = std::move(to_);
    return std::move(made_);
  }

 private:
  double size(const Block& block) const { return analysis::executed_instructions(from_, block, trips_); }
  double trips(LoopId id) const { return static_cast<double>(trips_[id]); }

  // Adds a statement and returns how many instructions it executes, `times` it is executed itself.
  double add(Block& block, const Node& node, double left, double times);
  double add_loop(Block& block, LoopId id, double left, double times);
  InstructionId add_instruction(InstructionId id);
  Arg add_arg(const Arg& arg);
  std::uint32_t add_accesses(std::uint32_t first, std::uint32_t count);
  Access add_access(const Access& access);
  Affine add_affine(const Affine& affine);
  TensorId add_tensor(TensorId id);
  void declare_what_is_used(Block& body, std::size_t first);

  const Program& from_;
  std::span<const std::int64_t> trips_;
  std::vector<std::uint32_t> tensor_, loop_, instruction_;  // what became of them; kNone: nothing
  Program to_;
  Excerpt made_;
};

double Cutter::add(Block& block, const Node& node, double left, double times) {
  switch (node.kind) {
    case Node::Kind::declare:
      block.push_back({node.kind, add_tensor(node.index)});
      return 0;
    case Node::Kind::loop:
      return add_loop(block, node.index, left, times);
    case Node::Kind::instruction:
      break;
  }
  block.push_back({node.kind, add_instruction(node.index)});
  return times;
}

double Cutter::add_loop(Block& block, LoopId id, double left, double times) {
  Loop loop = from_.loops[id];
  const Block body = std::move(loop.body);
  loop.body.clear();
  loop.loc = 0;
  double count = trips(id);
  if (loop.kind == Loop::Kind::static_for && size(body) * count * times > left) {
    count = std::clamp(std::floor(left / std::max(1.0, size(body) * times)), std::min(1.0, count), count);
    loop.upper.value = loop.lower.value + static_cast<std::int64_t>(count) * loop.step;
  }
  loop_[id] = static_cast<LoopId>(to_.loops.size());
  to_.loops.push_back(loop);
  Block inner;
  double executed = 0;
  for (const Node& node : body) executed += add(inner, node, left - executed, times * count);
  to_.loops[loop_[id]].body = std::move(inner);
  block.push_back({Node::Kind::loop, loop_[id]});
  return executed;
}

InstructionId Cutter::add_instruction(InstructionId id) {
  const Instruction& from = from_.instructions[id];
  Instruction to;
  to.opcode = from.opcode;
  const std::size_t count = info(from.opcode).params.size();
  std::vector<Arg> args;
  for (std::size_t i = 0; i < count; ++i) args.push_back(add_arg(from_.args[from.first_arg + i]));
  to.first_arg = static_cast<std::uint32_t>(to_.args.size());
  to_.args.insert(to_.args.end(), args.begin(), args.end());
  to.first_dep = static_cast<std::uint32_t>(to_.deps.size());
  for (std::uint32_t d = 0; d < from.dep_count; ++d) {
    const InstructionId dep = instruction_[from_.deps[from.first_dep + d]];
    if (dep != kNone) to_.deps.push_back(dep);
  }
  to.dep_count = static_cast<std::uint32_t>(to_.deps.size()) - to.first_dep;
  to_.instructions.push_back(to);
  made_.instructions.push_back(id);
  const auto made = static_cast<InstructionId>(to_.instructions.size() - 1);
  if (!instruction_.empty()) instruction_[id] = made;
  return made;
}

template <class T>
std::uint32_t append(std::vector<T>& to, const std::vector<T>& from, std::uint32_t first, std::uint32_t count) {
  const auto at = static_cast<std::uint32_t>(to.size());
  to.insert(to.end(), from.begin() + first, from.begin() + first + count);
  return at;
}

Arg Cutter::add_arg(const Arg& arg) {
  Arg to = arg;
  switch (arg.kind) {
    case Arg::Kind::access:
      to.index = add_accesses(arg.index, 1);
      break;
    case Arg::Kind::accesses:
      to.index = add_accesses(arg.index, arg.count);
      break;
    case Arg::Kind::integers:
      to.index = append(to_.integers, from_.integers, arg.index, arg.count);
      break;
    case Arg::Kind::reals:
      to.index = append(to_.reals, from_.reals, arg.index, arg.count);
      break;
    default:
      break;
  }
  return to;
}

std::uint32_t Cutter::add_accesses(std::uint32_t first, std::uint32_t count) {
  std::vector<Access> accesses;
  for (std::uint32_t i = 0; i < count; ++i) accesses.push_back(add_access(from_.accesses[first + i]));
  return append(to_.accesses, accesses, 0, count);
}

Access Cutter::add_access(const Access& access) {
  Access to = access;
  to.tensor = add_tensor(access.tensor);
  to.partition = add_affine(access.partition);
  to.offset = add_affine(access.offset);
  if (access.dynamic == kNone) return to;
  Dynamic dynamic = from_.dynamics[access.dynamic];
  if (dynamic.kind != Dynamic::Kind::scalar_register) dynamic.source = add_accesses(dynamic.source, 1);
  to.dynamic = static_cast<std::uint32_t>(to_.dynamics.size());
  to_.dynamics.push_back(dynamic);
  return to;
}

Affine Cutter::add_affine(const Affine& affine) {
  Affine to = affine;
  to.first_term = static_cast<std::uint32_t>(to_.terms.size());
  for (const Term& term : from_.terms_of(affine)) to_.terms.push_back({loop_[term.loop], term.coefficient});
  return to;
}

TensorId Cutter::add_tensor(TensorId id) {
  if (tensor_[id] != kNone) return tensor_[id];
  tensor_[id] = static_cast<TensorId>(to_.tensors.size());
  to_.tensors.push_back(from_.tensors[id]);
  to_.tensors.back().loc = 0;
  made_.tensors.push_back(id);
  return tensor_[id];
}

// Tensors that are declared before the excerpt have their memory from its beginning on.
void Cutter::declare_what_is_used(Block& body, std::size_t first) {
  for (std::size_t i = 0; i < first; ++i) {
    const Node& node = from_.body[i];
    if (node.kind == Node::Kind::declare && tensor_[node.index] != kNone)
      to_.body.push_back({Node::Kind::declare, tensor_[node.index]});
  }
  to_.body.insert(to_.body.end(), body.begin(), body.end());
}

}  // namespace

std::vector<std::uint32_t> Excerpt::translate(std::span<const std::uint32_t> ids,
                                              std::span<const std::uint32_t> originals) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < originals.size(); ++i) {
    if (std::binary_search(ids.begin(), ids.end(), originals[i])) out.push_back(i);
  }
  return out;
}

Excerpt excerpt_of(const Program& program, std::span<const std::int64_t> trips, std::size_t first, double budget) {
  return Cutter(program, trips).cut(first, budget);
}

}  // namespace kiln::rewrite
