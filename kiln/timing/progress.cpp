#include "kiln/timing/progress.h"

#include <limits>

namespace kiln::timing {

// Ops of one compute engine follow each other, so only what one of them reads from another takes its whole
// latency; the tensor engine adds up in PSUM without waiting.
Ready Progress::ready(const Ready& from, const Waits& deps, Stream stream) const {
  const int s = static_cast<int>(stream);
  Ready r = from;
  for (const Dependency& d : deps) {
    const OpTimes t = times(d.op);
    if (t.end < 0) continue;  // the op itself
    if (t.transfer) {
      r.later(t.end + plan_.dma_done + d.later, d.wait, t.event);
    } else if (t.stream == s && (d.wait != Wait::read || stream == Stream::tensor)) {
      r.later(t.start + d.later, d.wait, t.event);
    } else {
      r.later(t.end + plan_.semaphore[s] + d.later, d.wait, t.event);
    }
  }
  return r;
}

Time Progress::earliest_free() const {
  Time earliest = std::numeric_limits<Time>::max();
  for (int s = 0; s < kStreamCount; ++s) {
    if (plan_.uses_stream[s] && !retired_[s]) earliest = std::min(earliest, streams_[s].free);
  }
  return earliest;
}

void Progress::hold_until(Time at) {
  for (StreamState& s : streams_) s.free = std::max(s.free, at);
}

void Progress::turn(Time condition, Time takes) {
  for (StreamState& s : streams_) {
    const Time free = std::max(s.free, condition) + takes;
    s.turn += free - s.free;
    s.free = free;
  }
}

void Progress::move(unsigned used, Time by) {
  for (int s = 0; s < kStreamCount; ++s) {
    if (used >> s & 1) streams_[s].free += by;
  }
}

}  // namespace kiln::timing
