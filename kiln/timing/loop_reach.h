// LoopReach: how far back the dependencies of a loop's iterations go. What Steady must know to leave iterations out.
#pragma once

#include <utility>

#include "kiln/timing/issue.h"

namespace kiln::timing {

class LoopReach {
 public:
  struct Seen {
    OpId oldest = kNoOp;  // op of the loop that a dependency went back to
    bool stale = false;   // memory from before the loop was taken
  };
  void begin(OpId first_op) { begin_ = first_op, seen_ = {}; }  // from now on ops belong to the loop
  void end() { begin_ = kNoOp; }
  void note(const Issue& issue) {
    if (begin_ != kNoOp) look(issue);
  }
  Seen take() { return std::exchange(seen_, {}); }  // since the last time

 private:
  void look(const Issue& issue);

  OpId begin_ = kNoOp;  // kNoOp: nobody asks
  Seen seen_;
};

}  // namespace kiln::timing
