// Evidence: what an advice rule looks at, and how it asks the model what a change would bring.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kiln/advice/change.h"
#include "kiln/rewrite/excerpt.h"
#include "kiln/timing/timed_run.h"

namespace kiln::advice {

using timing::TimedRun;

class Evidence {
 public:
  explicit Evidence(const TimedRun& run);

  const TimedRun& run;
  const std::vector<std::vector<std::int64_t>> executions;  // by core and instruction
  double total_ns() const { return timing::to_ns(run.timeline.total); }

  // What the total would shrink by: the model runs again with the change made. Of programs whose simulation
  // is long, four parts are run as they are and with the change, and stand for all.
  double gain_with(const Change& change) const;
  // "model re-run with <change>", and on which part of the program.
  std::string estimate(const std::string& change) const;
  // A copy of a core's program to try instructions in; whoever changes it changes it back.
  isa::Program& scratch(std::size_t core) const;

 private:
  void take_parts(double simulated);
  double most_to_gain(const Change& change) const;
  timing::Time total_with(const isa::Launch& launch, const Change& change) const;

  std::vector<rewrite::Excerpt> parts_;  // empty: the whole is run again
  timing::Time parts_total_ = 0;
  double parts_executed_ = 0;
  mutable std::vector<std::unique_ptr<isa::Program>> scratch_;
};

}  // namespace kiln::advice
