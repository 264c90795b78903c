#include "kiln/analysis/meetings.h"

namespace kiln::analysis {
using namespace isa;

int meetings(const Program& program, const Node& node) {
  if (node.kind == Node::Kind::instruction) {
    const Opcode op = program.instructions[node.index].opcode;
    return op == Opcode::sendrecv || op == Opcode::core_barrier;
  }
  return node.kind == Node::Kind::loop ? meetings(program, program.loops[node.index].body) : 0;
}

int meetings(const Program& program, const Block& block) {
  int sum = 0;
  for (const Node& node : block) sum += meetings(program, node);
  return sum;
}

}  // namespace kiln::analysis
