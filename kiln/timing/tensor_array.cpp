#include "kiln/timing/tensor_array.h"

#include <algorithm>
#include <bit>

namespace kiln::timing {

// The stationary operand is loaded while the matmul before streams. What was loaded last has been waited for: when it
// is loaded again, and for the other parts of such a matmul, all but the passing of its columns comes before that
// matmul starts (INS2-mm-f32-128-ii). Operands that are new show no such thing (FUS-ATT).
Time TensorArray::load_from(const Op& op, const Loaded& loaded) const {
  return is_there(loaded) ? std::max(issued_, last_start_ - (op.load - op.load_pass)) : last_start_;
}

// After idling the array runs at a lower clock until it has been busy for some time; as much idling takes the full
// clock away again.
TensorArray::Run TensorArray::run(const Op& op, Ready r, const Ready& load, const Loaded& loaded, EventId last) {
  if (warm_up_ > 0) {
    const Time begin = std::max(r.at, load.at);
    heat_ = std::max<Time>(0, heat_ - std::max<Time>(0, begin - cooled_at_));
    if (heat_ == 0) warm_ = false;
  }
  const double slow = warm_ ? 1 : slow_;
  const auto stretch = [&](Time time) { return static_cast<Time>(static_cast<double>(time) * slow + 0.5); };
  const Time cold = warm_ ? 0 : cold_latency_;
  issued_ = r.wait == Wait::engine ? issued_ : r.at;
  if (load.at + op.load + cold > r.at) {
    const bool exposed = load.at > r.at;
    r = {load.at + op.load + cold, exposed ? load.wait : r.wait, exposed ? load.because : r.because};
  }
  r.later(free_from(op.quadrants), Wait::engine, last);
  // A float32 product is two matmuls, each with its own load.
  const Time part_load = is_there(loaded) ? op.load_pass : op.load + cold;
  loaded_ = loaded;
  const Time part = stretch(op.interval / op.parts), each = std::max(part, op.parts > 1 ? part_load : 0);
  last_start_ = r.at + each * (op.parts - 1);
  const Time occupied = last_start_ + part - r.at;
  occupy(op.quadrants, r.at + occupied);
  if (warm_up_ > 0) {
    heat_ = std::min(warm_up_, heat_ + occupied);
    if (heat_ == warm_up_) warm_ = true;
    cooled_at_ = r.at + occupied;
  }
  // Small tiles side by side start one after the other, a quadrant's share of time apart.
  const Time next = r.at + occupied * std::popcount(op.quadrants) / kQuadrantCount;
  return {r, occupied, last_start_ + stretch(op.pass) + op.latency + cold, next};
}

Time TensorArray::free_from(std::uint16_t quadrants) const {
  if (is_whole_) return free_[0];
  Time free = 0;
  for (int q = 0; q < kQuadrantCount; ++q) {
    if (quadrants >> q & 1) free = std::max(free, free_[q]);
  }
  return free;
}

void TensorArray::occupy(std::uint16_t quadrants, Time until) {
  is_whole_ = quadrants == kWhole;
  if (is_whole_) {
    std::fill(std::begin(free_), std::end(free_), until);
    return;
  }
  for (int q = 0; q < kQuadrantCount; ++q) {
    if (quadrants >> q & 1) free_[q] = until;
  }
}

void TensorArray::move(Time by) {
  for (Time& t : free_) t += by;
  last_start_ += by;
  issued_ += by;
  cooled_at_ += by;
}

}  // namespace kiln::timing
