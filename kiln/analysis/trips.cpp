#include "kiln/analysis/trips.h"

#include <algorithm>

namespace kiln::analysis {
using namespace isa;

namespace {

void count(const Program& program, const Block& block, std::span<const std::int64_t> trips, std::int64_t times,
           std::vector<std::int64_t>& counts) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::instruction) counts[node.index] += times;
    if (node.kind == Node::Kind::loop)
      count(program, program.loops[node.index].body, trips, times * trips[node.index], counts);
  }
}

}  // namespace

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
  count(program, program.body, trips, 1, counts);
  return counts;
}

}  // namespace kiln::analysis
