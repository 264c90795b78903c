// The constants of the timing model that belong to no engine alone. docs/timing.md names the source of each.
#pragma once

namespace kiln {

struct TensorTiming {
  double load_ns = 0;                 // loading the stationary operand, beyond its columns
  double load_columns_per_cycle = 0;  // of the stationary operand
  double cold_latency_ns = 0;         // more latency after idling
  double cold_rate = 1;               // share of the clock after idling
  double warm_up_ns = 0;              // activity until the full clock; as much idling takes it away again
};

struct TimingSpec {
  TensorTiming matmul;
  double table_load_ns = 0;     // loading another set of activation functions
  double register_load_ns = 0;  // a register from HBM
  double loop_ns = 0;           // one turn of a dynamic loop
  double pair_ns = 0;           // a signal to the other core of a pair
  double profiler_ns = 0;       // what the profiler's total shows around the kernel
  double benchmark_ns = 0;      // what the benchmark interface's latency adds
};

}  // namespace kiln
