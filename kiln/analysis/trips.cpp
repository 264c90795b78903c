#include "kiln/analysis/trips.h"

#include <limits>

#include "kiln/analysis/statements.h"

namespace kiln::analysis {
using namespace isa;

std::optional<std::int64_t> known_trips(const Loop& loop) {
  if (loop.kind == Loop::Kind::static_for) return loop.trip_count();
  if (loop.kind != Loop::Kind::dynamic_for || loop.lower.is_register || loop.upper.is_register || loop.step <= 0)
    return std::nullopt;
  return loop.trip_count();
}

double executed_instructions(const Program& program, const Block& block, std::span<const std::int64_t> trips) {
  double sum = 0;
  for (const Node& node : block) {
    if (node.kind == Node::Kind::instruction) sum += 1;
    if (node.kind == Node::Kind::loop)
      sum += executed_instructions(program, program.loops[node.index].body, trips) *
             static_cast<double>(trips[node.index]);
  }
  return sum;
}

std::vector<std::int64_t> executions(const Program& program, std::span<const std::int64_t> trips) {
  std::vector<std::int64_t> counts(program.instructions.size());
  TripCounts times(program.loops.size());  // how often the body of each loop runs in all
  for_each_statement(program, [&](const Statement& s) {
    const std::int64_t here = s.loop == kNone ? 1 : times[s.loop];
    if (s.is_instruction()) counts[s.node.index] += here;
    // Only loops without instructions may go round more often than can be counted.
    if (s.is_loop() && __builtin_mul_overflow(here, trips[s.node.index], &times[s.node.index]))
      times[s.node.index] = std::numeric_limits<std::int64_t>::max();
  });
  return counts;
}

}  // namespace kiln::analysis
