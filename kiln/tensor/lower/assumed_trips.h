// How often loops on registers run, when a program is timed to compare it with others: once.
#pragma once

#include <map>
#include <string>

#include "kiln/isa/program.h"

namespace kiln::tensor {

// By the names that timing::TimingOptions::trip_counts takes.
std::map<std::string, std::int64_t> assumed_trips(const isa::Program& program);

}  // namespace kiln::tensor
