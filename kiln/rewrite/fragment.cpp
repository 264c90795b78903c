#include "kiln/rewrite/fragment.h"

#include "kiln/analysis/meetings.h"
#include "kiln/analysis/statements.h"

namespace kiln::rewrite {
using namespace isa;

namespace {

bool holds(const Program& program, const Node& node, InstructionId id) {
  return !analysis::for_each_instruction(program, node, [&](InstructionId other) { return other != id; });
}

// Takes away the statements from the first one on for which `ends` is true; declarations stay.
template <class Fn>
void cut(Program& program, Fn&& ends) {
  bool behind = false;
  std::erase_if(program.body, [&](const Node& node) {
    behind = behind || ends(node);
    return behind && node.kind != Node::Kind::declare;
  });
}

}  // namespace

Program cut_at(Program program, InstructionId last, bool before) {
  bool found = false;
  cut(program, [&](const Node& node) {
    const bool ends = found;
    found = found || holds(program, node, last);
    return before ? found : ends;
  });
  return program;
}

Program cut_at_meeting(Program program, int count) {
  cut(program, [&](const Node& node) { return (count -= analysis::meetings(program, node)) < 0; });
  return program;
}

Program first_pass(Program program, int open_loops) {
  constexpr std::int64_t kBeyondAnyBound = std::int64_t{1} << 40;
  std::vector<Block*> blocks{&program.body};
  for (int i = 0; i < open_loops; ++i) blocks.push_back(&program.loops[blocks.back()->back().index].body);
  for (int i = open_loops; i > 0; --i) {
    Block& outer = *blocks[i - 1];
    Loop& loop = program.loops[outer.back().index];
    loop.step = kBeyondAnyBound;
    if (loop.kind != Loop::Kind::dynamic_while) continue;
    outer.pop_back();
    outer.insert(outer.end(), loop.body.begin(), loop.body.end());
  }
  return program;
}

Program fragment(Program program, std::span<const TensorId> outputs, const std::string& prefix, int lnc) {
  program.fragment = true;
  program.lnc = lnc;
  for (Tensor& t : program.tensors) {
    if (t.role == Role::output) t.role = Role::internal;
  }
  for (const TensorId id : outputs) {
    Tensor& t = program.tensors.at(id);
    if (t.role != Role::internal) continue;
    t.role = Role::inout;
    if (t.memory != Memory::shared_hbm) t.name = prefix + t.name;
  }
  return program;
}

}  // namespace kiln::rewrite
