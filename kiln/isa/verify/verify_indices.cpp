#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/verify/verifier.h"

namespace kiln::isa {
namespace {

// first + count <= size, without overflow
template <class Pool>
bool inside(std::uint64_t first, std::uint64_t count, const Pool& pool) {
  return first + count <= pool.size();
}

template <class Pool>
bool inside_or_none(std::uint32_t index, const Pool& pool) {
  return index == kNone || index < pool.size();
}

bool inside_bound(const Bound& b, const Program& p) {
  return !b.is_register || (b.value >= 0 && b.value < static_cast<std::int64_t>(p.registers.size()));
}

}  // namespace

bool Verifier::block_indices(const Block& block) {
  return std::all_of(block.begin(), block.end(), [&](const Node& node) {
    switch (node.kind) {
      case Node::Kind::instruction:
        return node.index < program_.instructions.size();
      case Node::Kind::loop:
        return node.index < program_.loops.size();
      case Node::Kind::declare:
        return node.index < program_.tensors.size();
    }
    return false;
  });
}

bool Verifier::arg_indices(const Arg& a) {
  switch (a.kind) {
    case Arg::Kind::access:
      return a.index < program_.accesses.size();
    case Arg::Kind::accesses:
      return inside(a.index, a.count, program_.accesses);
    case Arg::Kind::integers:
      return inside(a.index, a.count, program_.integers);
    case Arg::Kind::reals:
      return inside(a.index, a.count, program_.reals);
    case Arg::Kind::reg:
      return a.index < program_.registers.size();
    default:
      return true;
  }
}

bool Verifier::instruction_indices(const Instruction& inst) {
  if (static_cast<std::size_t>(inst.opcode) >= all_instructions().size()) return false;
  const std::size_t params = info(inst.opcode).params.size();
  if (!inside(inst.first_arg, params, program_.args) || !inside_or_none(inst.name, program_.strings) ||
      !inside(inst.first_dep, inst.dep_count, program_.deps) || inst.loc >= program_.locs.size()) {
    return false;
  }
  const auto args = std::span(program_.args).subspan(inst.first_arg, params);
  const auto deps = std::span(program_.deps).subspan(inst.first_dep, inst.dep_count);
  return std::all_of(args.begin(), args.end(), [&](const Arg& a) { return arg_indices(a); }) &&
         std::all_of(deps.begin(), deps.end(), [&](auto d) { return d < program_.instructions.size(); });
}

bool Verifier::access_indices(const Access& a) {
  if (a.tensor >= program_.tensors.size() || a.rank > kMaxRank || static_cast<int>(a.dtype) >= kDTypeCount ||
      !inside_or_none(a.dynamic, program_.dynamics)) {
    return false;
  }
  for (const Affine* affine : {&a.partition, &a.offset}) {
    if (!inside(affine->first_term, affine->term_count, program_.terms)) return false;
    for (const Term& term : program_.terms_of(*affine)) {
      if (term.loop >= program_.loops.size()) return false;
    }
  }
  if (a.dynamic == kNone) return true;
  const Dynamic& d = program_.dynamics[a.dynamic];
  return d.kind == Dynamic::Kind::scalar_register ? d.source < program_.registers.size()
                                                  : d.source < program_.accesses.size();
}

bool Verifier::loop_indices(const Loop& loop) {
  return block_indices(loop.body) && loop.loc < program_.locs.size() && inside_or_none(loop.reg, program_.registers) &&
         inside_bound(loop.lower, program_) && inside_bound(loop.upper, program_);
}

bool Verifier::indices() {
  const auto broken = [&](const char* what, std::size_t number) {
    report(program_rules::kIndices, 0, "", fmt::format("{} {}", what, number));
    return false;
  };
  if (!block_indices(program_.body)) return broken("the body of program", 0);
  for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
    const Tensor& t = program_.tensors[i];
    const bool known = static_cast<int>(t.memory) < kMemoryCount && static_cast<int>(t.dtype) < kDTypeCount;
    if (!known || t.loc >= program_.locs.size()) return broken("tensor", i);
  }
  for (std::size_t i = 0; i < program_.loops.size(); ++i) {
    if (!loop_indices(program_.loops[i])) return broken("loop", i);
  }
  for (std::size_t i = 0; i < program_.accesses.size(); ++i) {
    if (!access_indices(program_.accesses[i])) return broken("access", i);
  }
  for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
    if (!instruction_indices(program_.instructions[i])) return broken("instruction", i);
  }
  return true;
}

}  // namespace kiln::isa
