#include "kiln/vendor/written_out.h"

#include <limits>

namespace kiln::vendor {
namespace {

// Statements of a block whose static loops are written out; a loop on a register: too many.
double written_out(const isa::Program& program, const isa::Block& block) {
  double count = 0;
  for (const isa::Node& node : block) {
    count += 1;
    if (node.kind != isa::Node::Kind::loop) continue;
    const isa::Loop& loop = program.loops[node.index];
    if (loop.kind != isa::Loop::Kind::static_for) return std::numeric_limits<double>::infinity();
    count += static_cast<double>(loop.trip_count()) * (1 + written_out(program, loop.body));
  }
  return count;
}

}  // namespace

bool can_be_written_out(const isa::Program& program, double most) {
  return !program.loops.empty() && written_out(program, program.body) <= most;
}

}  // namespace kiln::vendor
