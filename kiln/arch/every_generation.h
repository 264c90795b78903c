// What all generations share. The data file of a generation starts from here and says what is its own.
// Sources: aws-neuron/aws-neuron-sdk nki/guides/architecture, nki/deep-dives/nki-dma-bandwidth-guide.rst; cycles from
// the API notes up to release 2.26; nanoseconds from published traces (docs/timing.md names each).
#pragma once

#include "kiln/arch/arch.h"

namespace kiln {

constexpr Arch every_generation() {
  constexpr EngineSpec kStreams = {.elements_per_cycle = 1,
                                   .elements_per_cycle_16bit = 1,
                                   .elements_per_cycle_8bit = 1,
                                   .elements_per_cycle_float32 = 1};
  Arch a;
  a.partitions = 128;
  a.psum_partition_bytes = 16 * 1024;
  a.psum_bank_bytes = 2048;
  a.psum_banks = 8;

  a.max_free_elements = 65536;
  a.max_dim_count = 65535;
  a.max_dim_stride = 32767;
  a.matmul_rows = 128;
  a.matmul_columns = 128;
  a.bn_stats_elements = 512;
  a.sequencer_registers = 64;

  a.matmul_init_cycles = 64;
  a.matmul_fp32_passes = 4;
  a.dynamic_address_cycles = 600;
  a.sbuf_access_cycles = 60;

  a.tensor = kStreams;
  a.tensor.semaphore_ns = 52;  // trace

  a.vector = kStreams;
  a.vector.min_interval_cycles = 64;
  a.vector.latency_ns = 154;  // trace
  a.vector.column_ns = 60;    // trace

  a.scalar = kStreams;
  a.scalar.min_interval_cycles = 64;
  a.scalar.latency_ns = 158;  // trace

  a.gpsimd = kStreams;
  a.gpsimd.start_cycles = 150;
  a.gpsimd.latency_ns = 30;
  a.gpsimd.semaphore_ns = 35;

  a.sync = {.latency_ns = 32, .interval_ns = 32, .semaphore_ns = 32};

  a.dma = {.engines = 16,
           .partitions_per_engine = 8,
           .outstanding_transfers = 64,
           .packet_ns = 7.5,                                // fit on INS2-pkt-4 … -4096, DOC-T1-dma4, DOC-DMA-128-pkt
           .swdge = {.trigger_ns = 37, .start_ns = 740},    // trace (INS2-dge-sw); trace
           .hwdge = {.trigger_ns = 545, .start_ns = 1331},  // trace; where there is hardware DGE
           .prebuilt = {.start_ns = 1006},                  // trace
           .trigger_gap_ns = 55};                           // trace

  a.timing = {.matmul = {.load_columns_per_cycle = 4},
              .register_load_ns = 650,
              .loop_ns = 60,
              .pair_ns = 1300,
              .profiler_ns = 15600};  // trace
  return a;
}

}  // namespace kiln
