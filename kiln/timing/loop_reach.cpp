#include "kiln/timing/loop_reach.h"

#include <algorithm>

namespace kiln::timing {

void LoopReach::look(const Issue& issue) {
  for (const auto* deps : {&issue.deps, &issue.early}) {
    for (const Dependency& d : *deps) {
      for (Watched& loop : loops_) {
        if (d.op >= loop.begin) {
          loop.seen.oldest = std::min(loop.seen.oldest, d.op);
        } else if (d.wait == Wait::memory) {
          loop.seen.stale = true;
        }
      }
    }
  }
}

}  // namespace kiln::timing
