// A generation that does not exist, as a data file of kiln/arch would have it: half the partitions, small memories, odd
// limits, round times.
#pragma once

#include "kiln/arch/every_generation.h"

namespace kiln {

constexpr Arch made_up() {
  Arch a = every_generation();
  a.target = static_cast<Target>(100);  // in no table
  a.name = "toy9";
  a.generation_name = "gen9";
  a.core_name = "ToyCore-v9";
  a.generation = 9;

  a.partitions = 64;
  a.sbuf_partition_bytes = 8 * 1024;
  a.sbuf_reserved_bytes = 1024;
  a.psum_partition_bytes = 4 * 1024;
  a.psum_bank_bytes = 1024;
  a.psum_banks = 4;
  a.hbm_bytes = 1 << 20;
  a.hbm_bytes_per_ns = 1000;

  a.max_free_elements = 1500;
  a.matmul_rows = 64;
  a.matmul_columns = 64;
  a.matmul_moving = 200;
  a.matmul_moving_bfloat16 = 100;
  a.matmul_passes_together = 1;
  a.bn_stats_elements = 48;
  a.sequencer_registers = 2;

  a.tensor.clock_ghz = 0.5;
  a.tensor.latency_ns = 1000;
  a.vector.clock_ghz = 0.25;
  a.vector.latency_ns = 70;
  a.vector.semaphore_ns = 5;
  a.scalar.clock_ghz = 1;
  a.gpsimd.clock_ghz = 1;
  a.sync.clock_ghz = 1;

  a.dma.engines = 2;
  a.dma.partitions_per_engine = 32;
  a.dma.bytes_per_ns = 1;
  a.dma.packet_ns = 50;
  a.dma.packet_bytes_per_ns = 2;
  a.dma.loaded_bytes_per_ns = 1;
  a.dma.transpose_rate_hbm = 1;
  a.dma.transpose_rate_sbuf = 1;
  a.dma.compute_rate = 1;
  a.dma.prebuilt = {.trigger_ns = 10, .start_ns = 400};
  a.dma.completion_ns = 3000;

  a.timing.profiler_ns = 1;
  a.timing.benchmark_ns = 2;

  a.features = {.float8_e4m3fn = true};
  return a;
}

}  // namespace kiln
