// Time lost because memory is used again too soon: an instruction stands ready, and what it overwrites is
// still in use.
#pragma once

#include "kiln/base/function_ref.h"
#include "kiln/views/advice.h"

namespace kiln::views {

struct ReuseWaits {
  double lost_ns = 0;             // that writers stood ready for
  std::int64_t count = 0;         // writers that did
  double writer_critical_ns = 0;  // their part of the critical path
  double other_critical_ns = 0;   // the rest of it
  double idle_ns = 0;             // of the busiest engine, or of DMA: no buffer makes it faster than that
  PlaceList places;               // of those who wait, then of those in the way

  // A second buffer lets both parts of the critical path run at once, and wins back no more than was lost.
  double gain_ns() const;
};

ReuseWaits find_reuse_waits(const TimedRun& run, FunctionRef<bool(const timing::Event&)> is_writer);

}  // namespace kiln::views
