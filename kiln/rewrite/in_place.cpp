#include "kiln/rewrite/in_place.h"

#include <algorithm>
#include <vector>

#include "kiln/analysis/statements.h"
#include "kiln/isa/uses.h"

namespace kiln::rewrite {
using namespace isa;
namespace {

// Where an access stands: in which statement of the program's own block, in which loop, and at what place of it.
struct Place {
  std::uint32_t top;
  LoopId loop;
  std::uint32_t at;
  const Access* access;
};

struct Uses {
  std::vector<Place> reads, writes;
  bool known = true;  // false: the input is written, the output is read, or an address shows at run time only
};

Uses uses_of(const Program& program, TensorId input, TensorId output) {
  Uses uses;
  std::uint32_t top = 0;
  analysis::for_each_statement(program, [&](const analysis::Statement& s) {
    if (s.depth == 0) top = s.index;
    if (!s.is_instruction()) return;
    for_each_use(program, program.instructions[s.node.index], [&](const Access& a, Use use) {
      if (a.tensor != input && a.tensor != output) return;
      uses.known = uses.known && a.dynamic == kNone && use == (a.tensor == input ? Use::read : Use::write);
      (a.tensor == input ? uses.reads : uses.writes).push_back({top, s.loop, s.index, &a});
    });
  });
  return uses;
}

// Elements from the first to the last of an access; 0 when its strides go backwards.
std::int64_t extent_of(const Access& a) {
  std::int64_t extent = 1;
  for (int d = 0; d < a.rank; ++d) {
    if (a.dims[d].stride < 0) return 0;
    extent += a.dims[d].stride * (a.dims[d].count - 1);
  }
  return extent;
}

// Whether two accesses are the same elements in each pass of a loop, and others in every other pass.
bool are_of_one_pass(const Program& program, const Access& a, const Access& b, LoopId loop) {
  const auto term_of = [&](const Access& x) {
    const std::span<const Term> terms = program.terms_of(x.offset);
    return terms.size() == 1 && terms[0].loop == loop ? terms[0].coefficient : 0;
  };
  const Loop& l = program.loops[loop];
  const bool same = a.dtype == b.dtype && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims) &&
                    a.offset.constant == b.offset.constant && term_of(a) == term_of(b);
  const std::int64_t extent = extent_of(a);
  return same && l.kind == Loop::Kind::static_for && extent > 0 && l.step > 0 && term_of(a) * l.step >= extent;
}

bool comes_before(const Program& program, const Place& read, const Place& write) {
  if (read.top != write.top) return read.top < write.top;
  const Node& node = program.body[read.top];
  return node.kind == Node::Kind::loop && read.loop == node.index && write.loop == node.index && read.at < write.at &&
         are_of_one_pass(program, *read.access, *write.access, node.index);
}

bool may_share(const Program& program, TensorId input, TensorId output) {
  const Tensor &in = program.tensors[input], &out = program.tensors[output];
  if (in.role != Role::input || out.role != Role::output || in.dtype != out.dtype || in.shape != out.shape ||
      is_on_chip(in.memory) || is_on_chip(out.memory))
    return false;
  const Uses uses = uses_of(program, input, output);
  return uses.known && std::ranges::all_of(uses.reads, [&](const Place& read) {
           return std::ranges::all_of(uses.writes,
                                      [&](const Place& write) { return comes_before(program, read, write); });
         });
}

}  // namespace

std::optional<Program> updated_in_place(const Program& program, TensorId input, TensorId output) {
  if (!may_share(program, input, output)) return std::nullopt;
  Program made = program;
  const auto number = [&](TensorId id) {
    const TensorId kept = id == output ? input : id;
    return kept == kNone ? kNone : kept - (kept > output);
  };
  made.tensors[input].role = Role::inout;
  made.tensors.erase(made.tensors.begin() + output);
  for (Access& a : made.accesses) a.tensor = number(a.tensor);
  const auto renumber = [&](Block& block) {
    std::erase(block, Node{Node::Kind::declare, output});
    for (Node& node : block) {
      if (node.kind == Node::Kind::declare) node.index = number(node.index);
    }
  };
  renumber(made.body);
  for (Loop& loop : made.loops) renumber(loop.body);
  return made;
}

}  // namespace kiln::rewrite
