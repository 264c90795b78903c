#include "kiln/timing/left_out.h"

#include <algorithm>

namespace kiln::timing {

const Skip* LeftOut::find(isa::LoopId loop, OpId at) const {
  auto skip = std::lower_bound(skips.begin(), skips.end(), at, [](const Skip& s, OpId op) { return s.at < op; });
  while (skip != skips.end() && skip->at == at && skip->loop != loop) ++skip;
  return skip != skips.end() && skip->at == at ? &*skip : nullptr;
}

}  // namespace kiln::timing
