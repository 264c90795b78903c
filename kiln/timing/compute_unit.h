// ComputeUnit: what the compute engines share and keep between instructions: ports of the memories, and the scalar
// engine's table of functions.
#pragma once

#include "kiln/timing/progress.h"
#include "kiln/timing/server.h"

namespace kiln::timing {

class ComputeUnit {
 public:
  explicit ComputeUnit(const Arch& arch) : table_load_(from_ns(arch.timing.table_load_ns)) {}

  // When an instruction starts that its dependencies let start at `ready`.
  Ready start(const Op& op, Ready ready, const StreamState& stream);

  int table() const { return table_; }
  void forget_before(Time floor);  // nothing to come starts earlier
  // Everything before `complete` is known and goes on for `count` periods. Nothing to come starts before `floor`.
  void jump(Time complete, Time period, std::int64_t count, Time floor);

 private:
  Time table_load_;
  int table_ = -1;  // that is loaded
  Server ports_[kPortCount];
};

}  // namespace kiln::timing
