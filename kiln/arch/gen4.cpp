// NeuronCore-v4 (trn3). Sources: aws-neuron/aws-neuron-sdk nki/guides/architecture,
// nki/deep-dives/nki-dma-bandwidth-guide.rst; cost constants from the API notes up to release 2.26 and
// published traces.
#include "kiln/arch/gen3_timing.h"
#include "kiln/arch/generations.h"

namespace kiln {
namespace {

constexpr TimingSpec timing() {
  TimingSpec t = kGen3Timing;
  t.dma.packet_bytes_per_ns = 38.4;
  t.dma.loaded_bytes_per_ns = 35.3;
  return t;
}
constexpr TimingSpec kTiming = timing();

}  // namespace

const Arch kGen4 = {
    .target = Target::trn3,
    .name = "trn3",
    .generation_name = "gen4",
    .core_name = "NeuronCore-v4",
    .generation = 4,
    .partitions = 128,
    .sbuf_partition_bytes = 256 * 1024,
    .sbuf_reserved_bytes = 0,
    .psum_partition_bytes = 16 * 1024,
    .psum_bank_bytes = 2048,
    .psum_banks = 8,
    .hbm_bytes = 144LL << 30,
    .hbm_bytes_per_ns = 1178,
    .cores = 8,
    .matmul_rows = 128,
    .matmul_columns = 128,
    .matmul_moving = 4096,
    .matmul_moving_bfloat16 = 8192,
    .matmul_init_cycles = 64,
    .matmul_fp32_passes = 4,
    .dynamic_address_cycles = 600,
    .psum_access_cycles = 60,
    .sbuf_access_cycles = 60,
    .max_free_size = 65536,
    .max_dim_count = 65535,
    .max_dim_stride = 32767,
    .engine = {
        /* unknown */ {},
        /* tensor  */ {2.4, 128, 1, 1, 1, 0, 0, 64},
        /* scalar  */ {1.2, 128, 1, 2, 2, 64, 0, 64},
        /* gpsimd  */ {1.2, 128, 1, 1, 1, 0, 150, 64},
        /* dma     */ {},
        /* vector  */ {1.2, 128, 1, 4, 4, 64, 0, 64, 2},
        /* sync    */ {1.2, 0, 0, 0, 0, 0, 0, 64},
    },
    .dma = {16, 33, 38.4, 1300, 545, 350, 8, 0.9, 0.5, 1, 153},
    .timing = kTiming,
    .features = {.hwdge = true,
                 .dma_priority = true,
                 .dma_indirect_transpose = true,
                 .tensor_transpose_mode = true,
                 .double_row = true,
                 .row_tile_32 = true,
                 .mx = true,
                 .float8_e4m3fn = true,
                 .psum_bfloat16 = true,
                 .scalar_bit_copy = true,
                 .scalar_tensor_ops = true,
                 .scalar_immediate_bias = true,
                 .vector_fast_modes = true,
                 .vector_exponential = true,
                 .vector_xorwow = true,
                 .alu_gen4 = true,
                 .indirect = true,
                 .lnc2 = true,
                 .range_select = true,
                 .nonzero_with_count = true,
                 .gpsimd_rng = true,
                 .background_transpose = true,
                 .separate_ports = true},
};

}  // namespace kiln
