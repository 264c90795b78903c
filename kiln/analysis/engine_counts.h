// Engine counts: how many instructions of a program each engine executes.
#pragma once

#include <array>
#include <string>

#include "kiln/isa/program.h"

namespace kiln::analysis {

using EngineCounts = std::array<std::int64_t, kEngineCount>;  // by Engine

// Instructions as written: a loop's body counts once. Only a legal program has an engine for each; throws Error when
// one has none.
EngineCounts count_by_engine(const isa::Program& program, const Arch& arch);

// Calls fn(name, count) for each engine that has any.
template <class Fn>
void for_each_engine(const EngineCounts& counts, Fn&& fn) {
  for (int e = 0; e < kEngineCount; ++e) {
    if (counts[e]) fn(std::string(name(static_cast<Engine>(e))), counts[e]);
  }
}

}  // namespace kiln::analysis
