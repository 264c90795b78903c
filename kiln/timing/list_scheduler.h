// ListScheduler: holds instructions back and takes the one that can start first, in program order among equals, as the
// vendor's compiler may. Memory is given out in that order, except that the oldest instruction never waits for what was
// not given back.
#pragma once

#include <vector>

#include "kiln/timing/progress.h"
#include "kiln/timing/stays.h"

namespace kiln::timing {

class ListScheduler {
 public:
  explicit ListScheduler(const Plan& plan) : plan_(plan) {}

  bool is_empty() const { return held_ == 0; }
  bool is_full() const { return held_ >= kWindow; }
  // Takes an instruction whose dependencies are known. `issue` is then one that was started before, to be filled again.
  void hold(Issue& issue, const Progress& progress);
  // The instruction to start next. When it has its times, say so with started().
  const Issue& choose(const Progress& progress, const Stays& stays);
  void started(const Progress& progress);

 private:
  static constexpr std::size_t kWindow = 192;  // instructions to choose from
  using Place = std::uint32_t;                 // index into held places
  struct Held {
    Issue issue;
    std::vector<Place> waiters;  // those that wait for it
    std::uint32_t missing = 0;   // dependencies that have no time yet
    Time known = 0;              // when all of them are done
  };
  Stream stream_of(const Issue& issue) const { return plan_.ops[issue.inst].stream; }
  std::vector<Place>& ready_of(const Issue& issue) { return ready_[static_cast<int>(stream_of(issue))]; }
  Time estimate(const Held& held, bool oldest, const Progress& progress, const Stays& stays) const;
  void make_ready(Place place, const Progress& progress);

  const Plan& plan_;
  std::vector<Held> places_;  // used again
  std::vector<Place> spare_;
  std::vector<Place> place_of_;             // by op
  std::vector<Place> ready_[kStreamCount];  // those that only wait for their turn
  OpId oldest_ = 0;                         // that waits
  Place chosen_ = isa::kNone;
  std::size_t held_ = 0;
};

}  // namespace kiln::timing
