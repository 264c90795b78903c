// Trip counts: how often the loops of a program run, and how often its instructions are executed then.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::analysis {

using TripCounts = std::vector<std::int64_t>;  // by LoopId

// What the program alone tells: of static loops, and of loops on registers with integers as bounds.
std::optional<std::int64_t> known_trips(const isa::Loop& loop);

// Instructions that a block executes.
double executed_instructions(const isa::Program& program, const isa::Block& block, std::span<const std::int64_t> trips);

// How often each instruction of a program is executed.
std::vector<std::int64_t> executions(const isa::Program& program, std::span<const std::int64_t> trips);

}  // namespace kiln::analysis
