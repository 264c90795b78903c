// The timing constants of NeuronCore-v3. For its successor nothing is published but the rates of its DMA
// engines, so it takes the rest from here.
#pragma once

#include "kiln/arch/timing_spec.h"

namespace kiln {

inline constexpr TimingSpec kGen3Timing = {.tensor = {164, 2.3, 0, 0, 0, 0, 0, 52},
                                           .vector = {154, 69, 60, 0, 0, 0, 0, 34},
                                           .scalar = {158, 53, 0, 100, 90, 25, 42, 35},
                                           .gpsimd = {30, 0, 0, 0, 0, 0, 0, 35},
                                           .sync = {32, 32, 0, 0, 0, 0, 0, 32},
                                           .matmul = {84, 4, 41, 0.5, 5120},
                                           .dma = {.trigger_ns = {0, 100, 545, 100},
                                                   .trigger_gap_ns = 55,
                                                   .start_ns = {0, 740, 1331, 1006},
                                                   .packet_ns = 8,
                                                   .packet_bytes_per_ns = 27.3,
                                                   .hbm_write_packet_ns = 24,
                                                   .small_write_bytes = 512,
                                                   .loaded_bytes_per_ns = 24.2,
                                                   .partitions_per_engine = 8,
                                                   .spread_ns = 300,
                                                   .outstanding = 64},
                                           .table_load_ns = 1283,
                                           .register_load_ns = 650,
                                           .loop_ns = 60,
                                           .pair_ns = 1300,
                                           .profiler_ns = 15600,
                                           .benchmark_ns = 8000};

}  // namespace kiln
