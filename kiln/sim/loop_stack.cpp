#include "kiln/sim/loop_stack.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/sim/float_bits.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;

LoopStack::LoopStack(const Program& program, Registers& registers, LoopCounts& counts, std::int64_t max_passes)
    : program_(program),
      registers_(registers),
      counts_(counts),
      max_passes_(max_passes),
      static_(program.loops.size()),
      frames_{{&program.body}},
      value_(program.loops.size()) {
  count_static(program.body);
}

// Negative when nothing in the block executes.
double LoopStack::count_static(const Block& block) {
  double sum = -1;
  for (const Node& node : block) {
    if (node.kind == Node::Kind::instruction) sum = std::max(sum, 0.0);
    if (node.kind != Node::Kind::loop) continue;
    const Loop& loop = program_.loops[node.index];
    const double inside = count_static(loop.body);
    double& passes = static_[node.index];
    if (loop.kind == Loop::Kind::static_for && inside >= 0)
      passes = static_cast<double>(std::max<std::int64_t>(loop.trip_count(), 0)) * (1 + inside);
    if (loop.kind != Loop::Kind::static_for || passes > 0) sum = std::max(sum, 0.0) + passes;
  }
  return sum;
}

std::int64_t LoopStack::bound(const Bound& b, LocId loc) const {
  return b.is_register ? static_cast<std::int32_t>(registers_.read(static_cast<RegisterId>(b.value), loc)) : b.value;
}

// A loop of which it is known that it exceeds the limit is not begun.
void LoopStack::require_passes(const Loop& loop, double passes, const std::string& found) const {
  if (static_cast<double>(passes_) + passes <= static_cast<double>(max_passes_)) return;
  raise(run_rules::kTable, run_rules::kLoopEnds,
        {.found = fmt::format("{}, where {} passes are allowed{}", found, max_passes_,
                              passes_ > 0 ? fmt::format(" and {} are done", passes_) : ""),
         .loc = program_.locs[loop.loc]});
}

void LoopStack::check_trip_count(const Loop& loop) const {
  const std::int64_t lower = bound(loop.lower, loop.loc), upper = bound(loop.upper, loop.loc);
  require_passes(loop, static_cast<double>((upper - lower) / loop.step),
                 fmt::format("a loop from {} to {}{}", lower, upper, float_bits_text(upper)));
}

void LoopStack::enter(LoopId id) {
  const Loop& loop = program_.loops[id];
  if (loop.kind == Loop::Kind::static_for) {
    if (static_[id] == 0) return;
    require_passes(loop, static_[id], fmt::format("{:.0f} passes of the loop and those in it", static_[id]));
  }
  if (loop.kind != Loop::Kind::dynamic_while) value_[id] = bound(loop.lower, loop.loc);
  if (loop.kind == Loop::Kind::dynamic_for) check_trip_count(loop);
  if (loop.kind != Loop::Kind::static_for) ++count_of(loop).entries;
  if (!goes_on(loop, id)) return;
  ++passes_;
  frames_.push_back({&loop.body, 0, id, 0});
}

LoopCount& LoopStack::count_of(const Loop& loop) {
  return counts_[loop.kind == Loop::Kind::dynamic_for ? loop.variable : program_.registers[loop.reg].name];
}

// Whether another iteration follows; hands a dynamic loop's register its value.
bool LoopStack::goes_on(const Loop& loop, LoopId id) {
  if (loop.kind == Loop::Kind::dynamic_while) {
    if (registers_.read(loop.reg, loop.loc) == 0) return false;
    ++count_of(loop).iterations;
    return true;
  }
  if (value_[id] >= bound(loop.upper, loop.loc)) return false;
  if (loop.kind == Loop::Kind::dynamic_for) {
    ++count_of(loop).iterations;
    registers_.write(loop.reg, static_cast<std::uint32_t>(value_[id]));
  }
  return true;
}

// Starts the next iteration of the loop whose body just ended; false when there is none.
bool LoopStack::repeat(Frame& frame) {
  const Loop& loop = program_.loops[frame.loop];
  frame.next = 0;
  value_[frame.loop] += loop.step;
  if (!goes_on(loop, frame.loop)) return false;
  ++frame.iterations;
  if (++passes_ > max_passes_) {
    const std::string others = frame.iterations < max_passes_ ? fmt::format(", {} with other loops,", max_passes_) : "";
    raise(
        run_rules::kTable, run_rules::kLoopEnds,
        {.found = fmt::format("{} iterations{} and no end", frame.iterations, others), .loc = program_.locs[loop.loc]});
  }
  return true;
}

Pass LoopStack::pass() const {
  Pass pass;
  for (const Frame& frame : frames_) {
    if (frame.loop == kNone) continue;
    const bool is_counted = program_.loops[frame.loop].kind != Loop::Kind::dynamic_while;
    pass.push_back({frame.loop, is_counted ? value_[frame.loop] : frame.iterations});
  }
  return pass;
}

}  // namespace kiln::sim
