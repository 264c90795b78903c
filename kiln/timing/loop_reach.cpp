#include "kiln/timing/loop_reach.h"

#include <algorithm>

namespace kiln::timing {

void LoopReach::look(const Issue& issue) {
  for (const auto* deps : {&issue.deps, &issue.early}) {
    for (const Dependency& d : *deps) {
      if (d.op >= begin_) {
        seen_.oldest = std::min(seen_.oldest, d.op);
      } else if (d.wait == Wait::memory) {
        seen_.stale = true;
      }
    }
  }
}

}  // namespace kiln::timing
