// DmaUnit: what all DMAs of a core share: the units that trigger them, the transfers that a stream may have under way,
// the engines that move bytes, the links to other ranks, and the queues in which transfers are shown.
#pragma once

#include <vector>

#include "kiln/timing/progress.h"
#include "kiln/timing/server.h"

namespace kiln::timing {

class DmaUnit {
 public:
  // `pair`: the other core takes half of the HBM stack.
  DmaUnit(const Arch& arch, bool pair);

  struct Run {
    Ready trigger;
    Time begin, end;  // of the transfer
    bool queued;      // it had to wait for the engines
    bool late;        // and the others to come
    int queue;        // -1: a collective, which is in none
  };
  // What a collective waits for beyond its own core.
  struct Others {
    Time there = 0;  // all ranks are
    Time links = 0;  // so are the links, which other groups may have taken
  };
  // A DMA whose dependencies let it be triggered at `ready`, after what `stream` did before. No byte moves before the
  // others are there.
  Run run(const Op& op, Ready ready, const StreamState& stream, Others others);

  void forget_before(Time floor);  // nothing to come starts earlier
  // The streams in `used` go on `count` periods later; everything before `complete` is known. Nothing to come starts
  // before `floor`.
  void jump(unsigned used, Time complete, Time period, std::int64_t count, Time floor);

 private:
  struct InFlight {
    std::vector<Time> ends;  // of transfers, as a ring
    std::size_t next = 0;
  };
  Ready trigger(const Op& op, Ready ready, const StreamState& stream);
  int choose_queue(Time start);

  bool pair_;
  Time trigger_gap_;
  Server engines_, units_[kUnitCount], links_;
  InFlight in_flight_[kStreamCount];
  std::vector<Time> queue_free_;
};

}  // namespace kiln::timing
