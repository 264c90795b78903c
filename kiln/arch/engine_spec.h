// One engine of a core: its clock, its rates and what an instruction of it takes beyond streaming.
// docs/timing.md names the source of each figure.
#pragma once

namespace kiln {

struct EngineSpec {
  double clock_ghz = 0;
  // Elements per lane and cycle; an engine that streams has one lane per partition.
  double elements_per_cycle = 0;          // any dtype
  double elements_per_cycle_16bit = 0;    // bfloat16 and float16 in the fast modes
  double elements_per_cycle_8bit = 0;     // 8-bit floats in the fast modes
  double elements_per_cycle_float32 = 0;  // copies of float32 inside SBUF in the fast modes
  int min_interval_cycles = 0;            // shortest distance between two instructions
  int start_cycles = 0;                   // of an instruction that starts a program on the engine (gpsimd)
  double latency_ns = 0;                  // start to results visible
  double interval_ns = 0;                 // start to the next start
  double column_ns = 0;                   // more of both when an operand is a [P, 1] tile
  double function_ns = 0;                 // more latency of a function from the activation table
  double function_interval_ns = 0;        // and more interval
  double sbuf_ns = 0;                     // more latency of such a function when its source is in SBUF
  double sbuf_interval_ns = 0;            // and more interval
  double semaphore_ns = 0;                // end of a producer to the start of an instruction that waits for it
};

}  // namespace kiln
