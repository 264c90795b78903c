// NeuronCore-v2 (trn1, inf2): what is its own. Sources as in every_generation.h.
#pragma once

#include "kiln/arch/every_generation.h"

namespace kiln {

constexpr Arch gen2() {
  Arch a = every_generation();
  a.target = Target::trn1;
  a.name = "trn1";
  a.other_name = "inf2";
  a.generation_name = "gen2";
  a.core_name = "NeuronCore-v2";
  a.generation = 2;

  a.sbuf_partition_bytes = 192 * 1024;
  a.sbuf_reserved_bytes = 16 * 1024 + 8;
  a.hbm_bytes = 32LL << 30;
  a.hbm_bytes_per_ns = 410;

  a.matmul_moving = 512;
  a.matmul_moving_bfloat16 = 512;
  a.matmul_passes_together = 1;  // float32 products take four times as long as bfloat16 ones

  a.tensor.clock_ghz = 2.8;
  a.tensor.latency_ns = 142;    // trace
  a.tensor.interval_ns = 29.5;  // fit on ACMP-gemm-5

  a.vector.clock_ghz = 1.12;
  a.vector.semaphore_ns = 30;  // trace

  a.scalar.clock_ghz = 1.4;
  a.scalar.semaphore_ns = 30;  // trace

  a.gpsimd.clock_ghz = 1.4;
  a.sync.clock_ghz = 1.4;

  a.dma.bytes_per_ns = 17;
  a.dma.packet_bytes_per_ns = 19;  // so that 4 KiB take the documents' 17 bytes/ns
  a.dma.loaded_bytes_per_ns = 17.6;
  a.dma.transpose_rate_hbm = 0.1;
  a.dma.transpose_rate_sbuf = 0.1;
  a.dma.compute_rate = 0.5;
  a.dma.prebuilt.trigger_ns = 263;  // fit on CS1-tiled128
  a.dma.completion_ns = 258;        // trace: 249 to the instruction that waits for the semaphore, 9 for that

  a.timing.matmul.load_ns = 55.6;  // DOC-T1-ldw1
  a.timing.table_load_ns = 368;    // trace
  a.timing.benchmark_ns = 15000;   // fit on CS1-stream200
  a.links = {.server = "trn1.32xlarge",
             .devices_per_node = 16,
             .cores_per_device = 2,
             .link_bytes_per_ns = 48,  // derived: 384 GB/s per chip, four neighbours, two directions
             .hop_ns = 1500,
             .node_hop_ns = 15000,
             .group_sizes = {1, 2, 8, 16, 32}};
  return a;
}

}  // namespace kiln
