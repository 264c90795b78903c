#include "kiln/sim/loop_stack.h"

#include <fmt/format.h>

#include "kiln/sim/float_bits.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;

LoopStack::LoopStack(const Program& program, Registers& registers, LoopCounts& counts,
                     std::int64_t max_dynamic_iterations)
    : program_(program),
      registers_(registers),
      counts_(counts),
      max_dynamic_iterations_(max_dynamic_iterations),
      frames_{{&program.body}},
      value_(program.loops.size()) {}

std::int64_t LoopStack::bound(const Bound& b, LocId loc) const {
  return b.is_register ? static_cast<std::int32_t>(registers_.read(static_cast<RegisterId>(b.value), loc)) : b.value;
}

// A loop whose bounds already say that it exceeds the limit is not begun.
void LoopStack::check_trip_count(const Loop& loop) const {
  const std::int64_t lower = bound(loop.lower, loop.loc), upper = bound(loop.upper, loop.loc);
  if ((upper - lower) / loop.step <= max_dynamic_iterations_) return;
  raise(run_rules::kTable, run_rules::kLoopEnds,
        {.found = fmt::format("a loop from {} to {}{}, where {} iterations are allowed", lower, upper,
                              float_bits_text(upper), max_dynamic_iterations_),
         .loc = program_.locs[loop.loc]});
}

void LoopStack::enter(LoopId id) {
  const Loop& loop = program_.loops[id];
  if (loop.kind != Loop::Kind::dynamic_while) value_[id] = bound(loop.lower, loop.loc);
  if (loop.kind == Loop::Kind::dynamic_for) check_trip_count(loop);
  if (loop.kind != Loop::Kind::static_for) ++count_of(loop).entries;
  if (goes_on(loop, id)) frames_.push_back({&loop.body, 0, id, 0});
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
  if (loop.kind != Loop::Kind::static_for && ++frame.iterations >= max_dynamic_iterations_) {
    raise(run_rules::kTable, run_rules::kLoopEnds,
          {.found = fmt::format("{} iterations and no end", frame.iterations), .loc = program_.locs[loop.loc]});
  }
  return true;
}

}  // namespace kiln::sim
