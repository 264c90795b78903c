// TensorArray: the tensor engine's array: which of its pieces are taken, when the next stationary operand can be
// loaded, and at which clock it runs.
#pragma once

#include "kiln/timing/issue.h"
#include "kiln/timing/op.h"

namespace kiln::timing {

class TensorArray {
 public:
  explicit TensorArray(const TensorTiming& timing)
      : slow_(1 / timing.cold_rate),
        cold_latency_(from_ns(timing.cold_latency_ns)),
        warm_up_(timing.warm_up_ns > 0 ? from_ns(timing.warm_up_ns) : 0),
        warm_(timing.warm_up_ns <= 0) {}

  // From when on the stationary operand of the next matmul can be loaded.
  Time load_from(const Op& op, const Loaded& loaded) const;

  struct Run {
    Ready start;
    Time occupied;  // from the start: nothing else runs in its pieces
    Time end;       // results visible
    Time next;      // the stream goes on
  };
  // A matmul whose operands let it start at `ready`, and whose stationary operand is there to be loaded at `load`.
  // `last`: the event before it in the stream.
  Run run(const Op& op, Ready ready, const Ready& load, const Loaded& loaded, EventId last);

  Time heat() const { return heat_; }
  void move(Time by);  // everything happens so much later

 private:
  static constexpr std::uint16_t kWhole = 0xffff;  // all pieces
  Time free_from(std::uint16_t quadrants) const;
  void occupy(std::uint16_t quadrants, Time until);

  double slow_;        // how much longer everything takes when it is cold
  Time cold_latency_;  // and what comes on top
  Time warm_up_;       // 0: it is always warm
  Time free_[kQuadrantCount] = {};
  bool is_whole_ = true;  // all pieces are free at the same time
  Time last_start_ = 0;   // of the last part of the last matmul
  Time issued_ = 0;       // when that one had nothing to wait for any more but the array
  Loaded loaded_;
  bool is_there(const Loaded& loaded) const { return loaded.tensor != isa::kNone && loaded == loaded_; }
  Time heat_ = 0, cooled_at_ = 0;
  bool warm_;
};

}  // namespace kiln::timing
