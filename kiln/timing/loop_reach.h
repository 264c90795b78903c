// LoopReach: how far back the dependencies of the iterations of loops go. What Steady must know to leave iterations
// out.
#pragma once

#include <utility>
#include <vector>

#include "kiln/timing/issue.h"

namespace kiln::timing {

class LoopReach {
 public:
  struct Seen {
    OpId oldest = kNoOp;  // op of the loop that a dependency went back to
    bool stale = false;   // memory from before the loop was taken
  };
  // From now on ops belong to a loop, inside those that have begun before. Returns its depth among them.
  std::size_t begin(OpId first_op) {
    loops_.push_back({first_op, {}});
    return loops_.size() - 1;
  }
  void end() { loops_.pop_back(); }  // of the innermost
  void note(const Issue& issue) {
    if (!loops_.empty()) look(issue);
  }
  Seen take(std::size_t depth) { return std::exchange(loops_[depth].seen, {}); }  // since the last time

 private:
  struct Watched {
    OpId begin;
    Seen seen;
  };
  void look(const Issue& issue);

  std::vector<Watched> loops_;  // from the outside in; empty: nobody asks
};

}  // namespace kiln::timing
