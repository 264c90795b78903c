// The constants of the timing model that no instruction's cost formula holds: fixed latencies, hand-overs,
// DMA packets, the tensor engine's clock. docs/timing.md names the source of each.
#pragma once

namespace kiln {

inline constexpr int kDgeModeCount = 4;  // as isa::DgeMode: unknown, swdge, hwdge, none

// What an instruction of an engine takes beyond its streaming cycles, in nanoseconds.
struct EngineTiming {
  double latency_ns;   // start to results visible
  double interval_ns;  // start to the next start
  double column_ns;    // more of both when an operand is a [P, 1] tile
  double function_ns;  // more latency of a function from the activation table
  double function_interval_ns;
  double sbuf_ns;           // more latency of such a function when its source is in SBUF
  double sbuf_interval_ns;  // and more interval
  double semaphore_ns;      // end of a producer to the start of an instruction that waits for it
};

struct TensorTiming {
  double load_ns;          // loading the stationary operand, beyond its columns
  double load_rate;        // columns per cycle
  double cold_latency_ns;  // more latency after idling
  double cold_rate;        // share of the clock after idling
  double warm_up_ns;       // activity until the full clock; as much idling takes it away again
};

struct DmaTiming {
  double trigger_ns[kDgeModeCount];  // a trigger instruction
  double trigger_gap_ns;             // from its end to the next one of the same unit
  double start_ns[kDgeModeCount];    // trigger start to first byte
  double packet_ns;                  // per packet
  double packet_bytes_per_ns;        // inside a packet, one engine
  double hbm_write_packet_ns;        // more for a packet written to HBM that is shorter than small_write_bytes
  double small_write_bytes;
  double loaded_bytes_per_ns;  // inside a packet, when all engines are at work
  int partitions_per_engine;
  double spread_ns;  // engines of one transfer do not begin together: first to last
  int outstanding;   // transfers that a queue holds before its triggers wait
};

struct TimingSpec {
  EngineTiming tensor, vector, scalar, gpsimd, sync;
  TensorTiming matmul;
  DmaTiming dma;
  double table_load_ns;     // loading another set of activation functions
  double register_load_ns;  // a register from HBM
  double loop_ns;           // one turn of a dynamic loop
  double pair_ns;           // a signal to the other core of a pair
  double profiler_ns;       // what the profiler's total shows around the kernel
  double benchmark_ns;      // what the benchmark interface's latency adds
};

}  // namespace kiln
