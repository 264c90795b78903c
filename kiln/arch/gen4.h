// NeuronCore-v4 (trn3): what differs from NeuronCore-v3. Of its timing nothing is published but clocks and the rates of
// HBM and DMA, so it takes the rest from there. Sources as in every_generation.h.
#pragma once

#include "kiln/arch/gen3.h"

namespace kiln {

constexpr Arch gen4() {
  Arch a = gen3();
  a.target = Target::trn3;
  a.name = "trn3";
  a.other_name = "trn3pre";
  a.generation_name = "gen4";
  a.core_name = "NeuronCore-v4";
  a.generation = 4;

  a.sbuf_partition_bytes = 256 * 1024;
  a.sbuf_reserved_bytes = 0;
  a.hbm_bytes = 144LL << 30;
  a.hbm_bytes_per_ns = 1178;

  a.matmul_moving = 4096;
  a.matmul_moving_bfloat16 = 8192;

  a.vector.clock_ghz = 1.2;
  a.vector.elements_per_cycle_8bit = 4;
  a.scalar.elements_per_cycle_16bit = 2;
  a.scalar.elements_per_cycle_8bit = 2;

  a.dma.bytes_per_ns = 33;
  a.dma.packet_bytes_per_ns = 38.4;
  a.dma.loaded_bytes_per_ns = 35.3;
  a.dma.compute_rate = 1;

  a.features.dma_priority = true;
  a.features.mx = true;
  a.features.float8_e4m3fn = true;
  a.features.psum_bfloat16 = true;
  a.features.scalar_subtract = true;
  a.features.vector_xorwow = true;
  a.features.indirect = true;
  a.features.background_transpose = true;
  a.links = {.server = "trn3",
             .devices_per_node = 4,
             .cores_per_device = 8,
             .has_switch = true,
             .link_bytes_per_ns = 256,
             .hop_ns = 1500,
             .node_hop_ns = 15000};
  return a;
}

}  // namespace kiln
