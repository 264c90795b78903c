// How often loops run, as the program or the options say.
#pragma once

#include "kiln/analysis/trips.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {

// Throws Error when neither tells.
analysis::TripCounts trip_counts(const isa::Program& program, const TimingOptions& options);

// What a loop is called: by its variable, or by the register that it tests.
std::string name_of(const isa::Program& program, const isa::Loop& loop);

}  // namespace kiln::timing
