#include "kiln/timing/trips.h"

#include <fmt/format.h>

#include "kiln/analysis/statements.h"
#include "kiln/timing/rules.h"

namespace kiln::timing {
using namespace isa;

namespace {

[[noreturn]] void fail(const Program& program, const Loop& loop, std::string found, std::string help) {
  raise(timing_rules::kTable, timing_rules::kTripCount,
        {.found = std::move(found), .help = std::move(help), .loc = program.locs[loop.loc]});
}

std::int64_t given_trips(const Program& program, const Loop& loop, const TimingOptions& options) {
  for (const std::string& name :
       {loop.variable, loop.reg == kNone ? std::string() : program.registers[loop.reg].name}) {
    const auto given = options.trip_counts.find(name);
    if (!name.empty() && given != options.trip_counts.end()) return given->second;
  }
  return -1;
}

std::int64_t trips(const Program& program, const Loop& loop, const TimingOptions& options) {
  if (loop.kind == Loop::Kind::static_for) return loop.trip_count();
  if (const std::int64_t given = given_trips(program, loop, options); given >= 0) return given;
  if (const auto known = analysis::known_trips(loop)) return *known;
  if (loop.usual != Loop::kUnsaid) return loop.usual;
  const std::string name = name_of(program, loop);
  fail(program, loop, fmt::format("the loop on `{}` has no trip count", name),
       fmt::format("give one: --trip-count {}=N, or TimingOptions::trip_counts[\"{}\"]", name, name));
}

}  // namespace

std::string name_of(const Program& program, const Loop& loop) {
  return loop.kind == Loop::Kind::dynamic_while || loop.variable.empty() ? program.registers[loop.reg].name
                                                                         : loop.variable;
}

analysis::TripCounts trip_counts(const Program& program, const TimingOptions& options) {
  analysis::TripCounts out(program.loops.size());
  const auto enter = [](const analysis::Statement&) {};
  const auto leave = [&](const analysis::Statement& s) {
    out[s.node.index] = trips(program, program.loops[s.node.index], options);
  };
  analysis::for_each_statement(program, kNone, enter, leave);
  return out;
}

}  // namespace kiln::timing
