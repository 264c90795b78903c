#include "kiln/timing/compute_unit.h"

namespace kiln::timing {

Ready ComputeUnit::start(const Op& op, Ready r, const StreamState& stream) {
  if (op.table >= 0 && op.table != table_) {
    table_ = op.table;
    r.later(stream.free + table_load_, Wait::engine, stream.last);
  }
  for (int p = 0; op.ports >> p; ++p) {
    if (op.ports >> p & 1) r.later(ports_[p].take(r.at, op.interval), Wait::port, r.because);
  }
  return r;
}

void ComputeUnit::forget_before(Time floor) {
  for (Server& p : ports_) p.forget_before(floor);
}

void ComputeUnit::jump(Time complete, Time period, std::int64_t count, Time floor) {
  for (Server& p : ports_) p.repeat(complete, period, count, floor);
}

}  // namespace kiln::timing
