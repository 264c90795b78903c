// LoopPlan: how a walk goes through the loops of a program, worked out before it begins: which of them have nothing to
// do, which go round as one, and which are watched until they are steady.
#pragma once

#include <vector>

#include "kiln/analysis/trips.h"
#include "kiln/timing/plan.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {

class LoopPlan {
 public:
  // `pair`: loops in which the other core is met are not watched. Throws Error when the loops certainly need more than
  // options.limit instructions one by one.
  LoopPlan(const isa::Program& program, const Plan& plan, const TimingOptions& options, bool pair);

  const analysis::TripCounts& trips() const { return trips_; }
  double executed() const { return executed_; }                  // instructions
  double simulated() const { return simulated_; }                // of these, one by one, about
  bool is_idle(isa::LoopId id) const { return each_[id] == 0; }  // no pass of it executes an instruction
  bool is_watched(isa::LoopId id) const { return watched_[id]; }
  // Loops that go round as one, from `id` to the innermost: each has nothing but the next in its body, and addresses
  // move as much from its pass to its next pass as from pass to pass of the innermost.
  std::vector<isa::LoopId> chain(isa::LoopId id) const;
  bool is_alone(isa::LoopId id) const { return next_[id] == isa::kNone; }
  std::int64_t passes(isa::LoopId id) const;  // of its chain
  // From now on this loop, which is alone and not watched, goes round so often.
  void set_trips(isa::LoopId id, std::int64_t trips) { trips_[id] = trips; }

 private:
  double count(const isa::Block& block);
  void find_chains();
  bool goes_on(isa::LoopId outer, isa::LoopId inner) const;
  bool goes_on(const isa::Affine& affine, isa::LoopId outer, isa::LoopId inner) const;
  struct Choice;
  void choose(const isa::Block& block, const Choice& choice);
  bool meets_in(isa::LoopId id) const;
  isa::LoopId innermost(isa::LoopId id) const;
  double taken(const isa::Block& block, double until_steady) const;
  double taken(isa::LoopId id, double until_steady) const;
  void require_countable() const;
  void require_within(const TimingOptions& options) const;

  const isa::Program& program_;
  const Plan& plan_;
  bool pair_;
  analysis::TripCounts trips_;
  std::vector<double> each_;       // by loop: instructions that a pass executes
  std::vector<isa::LoopId> next_;  // by loop: the next of its chain; isa::kNone
  std::vector<bool> watched_;      // by loop
  double executed_ = 0, simulated_ = 0;
};

}  // namespace kiln::timing
