// How often loops run, as the program or the options say.
#pragma once

#include "kiln/analysis/trips.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {

// Throws Error when neither tells.
analysis::TripCounts trip_counts(const isa::Program& program, const TimingOptions& options);

}  // namespace kiln::timing
