// Stays: tensors in memory while the list scheduler chooses the order. A tensor comes with the first instruction that
// is started of those that use it, and its bytes are free again when the last of them is done.
#pragma once

#include <vector>

#include "kiln/timing/issue.h"
#include "kiln/timing/pool.h"

namespace kiln::timing {

class Stays {
 public:
  explicit Stays(std::int64_t sbuf_bytes = 0, std::int64_t psum_bytes = 0)
      : pools_{TimedPool(sbuf_bytes), TimedPool(psum_bytes)} {}

  StayId open(std::int64_t bytes, bool psum);
  void close(StayId id);  // no instruction to come uses it
  // One more instruction that uses it; adds it to those of the instruction, once.
  void use(StayId id, StayIds& of_instruction);

  // When all stays of an instruction that are not there yet have room; not before `from`; negative: one of them has
  // none. Those that have none count for nothing when it goes `anyway`.
  Time soonest(Time from, const StayIds& stays, Time semaphore, bool anyway) const;
  Ready ready(Ready ready, const StayIds& stays, Time semaphore) const;
  void take(const StayIds& stays);
  void leave(const StayIds& stays, const OpTimes& times);

 private:
  struct Stay {
    std::int64_t bytes;
    bool psum;
    bool taken = false, closed = false;
    std::uint32_t waiting = 0;  // instructions that use it and have not started
    Time end = 0;
    EventId last = isa::kNone;
  };
  void give_back(const Stay& stay);

  std::vector<Stay> stays_;
  TimedPool pools_[2];  // SBUF, PSUM
};

}  // namespace kiln::timing
