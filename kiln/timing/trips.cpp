#include "kiln/timing/trips.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/timing/rules.h"

namespace kiln::timing {
using namespace isa;

namespace {

[[noreturn]] void fail(const Program& program, const Loop& loop, std::string found, std::string help) {
  Diagnostic d = timing_diagnostic("timing.trip_count");
  d.loc = program.locs[loop.loc];
  d.found = std::move(found);
  d.help = std::move(help);
  throw Error(std::move(d));
}

std::string name_of(const Program& program, const Loop& loop) {
  return loop.kind == Loop::Kind::dynamic_while || loop.variable.empty() ? program.registers[loop.reg].name
                                                                         : loop.variable;
}

std::int64_t given_trips(const Program& program, const Loop& loop, const TimingOptions& options) {
  for (const std::string& name :
       {loop.variable, loop.reg == kNone ? std::string() : program.registers[loop.reg].name}) {
    const auto given = options.trip_counts.find(name);
    if (!name.empty() && given != options.trip_counts.end()) return given->second;
  }
  return -1;
}

}  // namespace

std::int64_t trips(const Program& program, LoopId id, const TimingOptions& options) {
  const Loop& loop = program.loops[id];
  if (loop.kind == Loop::Kind::static_for) return loop.trip_count();
  if (const std::int64_t given = given_trips(program, loop, options); given >= 0) return given;
  const bool known =
      loop.kind == Loop::Kind::dynamic_for && !loop.lower.is_register && !loop.upper.is_register && loop.step > 0;
  if (known) return std::max<std::int64_t>(0, (loop.upper.value - loop.lower.value + loop.step - 1) / loop.step);
  const std::string name = name_of(program, loop);
  fail(program, loop, fmt::format("the loop on `{}` has no trip count", name),
       fmt::format("give one: --trip-count {}=N, or TimingOptions::trip_counts[\"{}\"]", name, name));
}

double executed_instructions(const Program& program, const Block& block, const TimingOptions& options) {
  double sum = 0;
  for (const Node& node : block) {
    if (node.kind == Node::Kind::instruction) sum += 1;
    if (node.kind == Node::Kind::loop)
      sum += executed_instructions(program, program.loops[node.index].body, options) *
             static_cast<double>(trips(program, node.index, options));
  }
  return sum;
}

}  // namespace kiln::timing
