// NeuronCore-v3 (trn2): what is its own. Sources as in every_generation.h.
#pragma once

#include "kiln/arch/every_generation.h"

namespace kiln {

constexpr Arch gen3() {
  Arch a = every_generation();
  a.target = Target::trn2;
  a.name = "trn2";
  a.generation_name = "gen3";
  a.core_name = "NeuronCore-v3";
  a.generation = 3;

  a.sbuf_partition_bytes = 224 * 1024;
  a.sbuf_reserved_bytes = 16 * 1024 + 8;
  a.hbm_bytes = 96LL << 30;
  a.hbm_bytes_per_ns = 716;

  a.matmul_moving = 512;
  a.matmul_moving_bfloat16 = 512;
  a.matmul_passes_together = 2;  // trace

  a.tensor.clock_ghz = 2.4;
  a.tensor.latency_ns = 164;   // trace
  a.tensor.interval_ns = 2.3;  // trace

  a.vector.clock_ghz = 0.96;
  a.vector.elements_per_cycle_16bit = 4;
  a.vector.elements_per_cycle_float32 = 2;  // trace
  a.vector.interval_ns = 69;                // trace
  a.vector.semaphore_ns = 34;               // trace

  a.scalar.clock_ghz = 1.2;
  a.scalar.interval_ns = 53;           // trace
  a.scalar.function_ns = 100;          // trace
  a.scalar.function_interval_ns = 90;  // trace
  a.scalar.sbuf_ns = 25;               // trace
  a.scalar.sbuf_interval_ns = 42;      // trace
  a.scalar.semaphore_ns = 35;          // trace

  a.gpsimd.clock_ghz = 1.2;
  a.sync.clock_ghz = 1.2;

  a.dma.bytes_per_ns = 23;
  a.dma.packet_bytes_per_ns = 27.3;  // trace; so that 4 KiB take the documents' 23 bytes/ns
  a.dma.loaded_bytes_per_ns = 24.2;
  a.dma.hbm_write_packet_ns = 24;  // trace (INS2-pkt-256s)
  a.dma.small_write_bytes = 512;
  a.dma.transpose_rate_hbm = 0.9;
  a.dma.transpose_rate_sbuf = 0.5;
  a.dma.compute_rate = 0.5;
  a.dma.gpsimd_bytes_per_ns = 153;
  a.dma.prebuilt.trigger_ns = 100;  // fit on CS2-tr1024
  a.dma.spread_ns = 300;            // trace
  a.dma.completion_ns = 350;        // trace

  a.timing.matmul.load_ns = 84;  // trace
  a.timing.matmul.cold_latency_ns = 41;
  a.timing.matmul.cold_rate = 0.5;
  a.timing.matmul.warm_up_ns = 5120;  // 1.5 windows of 4096 base cycles, between the traces' 3.6 and 6.7 µs
  a.timing.table_load_ns = 1283;      // trace
  a.timing.benchmark_ns = 8000;       // trace

  a.features = {.hwdge = true,
                .dma_indirect_transpose = true,
                .tensor_transpose_mode = true,
                .double_row = true,
                .row_tile_32 = true,
                .scalar_tensor_ops = true,
                .scalar_immediate_bias = true,
                .vector_fast_modes = true,
                .gpsimd_rng = true,
                .lnc2 = true,
                .separate_ports = true};
  a.links = {.server = "trn2.48xlarge",
             .devices_per_node = 16,
             .cores_per_device = 8,
             .link_bytes_per_ns = 128,
             // fit on MMB-coll-4-* and MMB-coll-8-*x2, for the cores of a chip too; a mesh as what moves bytes only
             .rate = {0.125, 0.6, 0.68, 0.68, 0.68},
             .hop_ns = 1500,
             .node_hop_ns = 15000,
             .group_sizes = {1, 2, 4, 8, 16, 32, 64, 128}};
  return a;
}

}  // namespace kiln
