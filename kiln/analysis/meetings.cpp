#include "kiln/analysis/meetings.h"

#include "kiln/analysis/statements.h"
#include "kiln/isa/table.h"

namespace kiln::analysis {
using namespace isa;

int meetings(const Program& program, const Node& node) {
  int sum = 0;
  for_each_instruction(program, node,
                       [&](InstructionId id) { sum += info(program.instructions[id].opcode).semantics->facts.meets; });
  return sum;
}

int meetings(const Program& program) {
  int sum = 0;
  for (const Node& node : program.body) sum += meetings(program, node);
  return sum;
}

}  // namespace kiln::analysis
