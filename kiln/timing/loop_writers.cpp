#include "kiln/timing/loop_writers.h"

#include <algorithm>

namespace kiln::timing {

namespace {
constexpr std::size_t kLoopWrites = 4;  // in a row, without a read: a loop of its own
}

void LoopWriters::forget(isa::TensorId id) {
  tensors_[id].now.clear();
  tensors_[id].earlier.clear();
}

void LoopWriters::touch(isa::TensorId id, const Use& use, OpId op, const Progress& progress, Waits& out) {
  Writers& writers = tensors_[id];
  std::vector<OpId>&now = writers.now, &earlier = writers.earlier;
  if (unrolled_ && use.reads && now.size() >= kLoopWrites) ++loop_;
  if (unrolled_ && use.reads && now.size() < kLoopWrites) now.clear();
  if (writers.loop != loop_) {
    writers.loop = loop_;
    earlier.insert(earlier.end(), now.begin(), now.end());
    now.clear();
  }
  if (use.writes) now.push_back(op);
  if (!use.reads || earlier.empty()) return;
  // Of those that have a time, the last one stands for all.
  const auto known = std::partition(earlier.begin(), earlier.end(), [&](OpId o) { return !progress.has_times(o); });
  if (earlier.end() - known > 1) {
    *known = *std::max_element(known, earlier.end(),
                               [&](OpId a, OpId b) { return progress.times(a).end < progress.times(b).end; });
    earlier.erase(known + 1, earlier.end());
  }
  for (OpId o : earlier) out.push_back({o, Wait::read});
}

}  // namespace kiln::timing
