// NeuronCore-v3 (trn2). Sources: aws-neuron/aws-neuron-sdk nki/guides/architecture,
// nki/deep-dives/nki-dma-bandwidth-guide.rst; cost constants from the API notes up to release 2.26 and
// published traces.
#include "kiln/arch/gen3_timing.h"
#include "kiln/arch/generations.h"

namespace kiln {

const Arch kGen3 = {
    .target = Target::trn2,
    .name = "trn2",
    .generation_name = "gen3",
    .core_name = "NeuronCore-v3",
    .generation = 3,
    .partitions = 128,
    .sbuf_partition_bytes = 224 * 1024,
    .sbuf_reserved_bytes = 16 * 1024 + 8,
    .psum_partition_bytes = 16 * 1024,
    .psum_bank_bytes = 2048,
    .psum_banks = 8,
    .hbm_bytes = 96LL << 30,
    .hbm_bytes_per_ns = 716,
    .cores = 8,
    .matmul_rows = 128,
    .matmul_columns = 128,
    .matmul_moving = 512,
    .matmul_moving_bfloat16 = 512,
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
        /* scalar  */ {1.2, 128, 1, 1, 1, 64, 0, 64},
        /* gpsimd  */ {1.2, 128, 1, 1, 1, 0, 150, 64},
        /* dma     */ {},
        /* vector  */ {0.96, 128, 1, 4, 1, 64, 0, 64, 2},
        /* sync    */ {1.2, 0, 0, 0, 0, 0, 0, 64},
    },
    .dma = {16, 23, 27.2, 1300, 545, 350, 8, 0.9, 0.5, 0.5, 153},
    .timing = kGen3Timing,
    .features = {.hwdge = true,
                 .dma_indirect_transpose = true,
                 .tensor_transpose_mode = true,
                 .double_row = true,
                 .row_tile_32 = true,
                 .scalar_bit_copy = true,
                 .scalar_tensor_ops = true,
                 .scalar_immediate_bias = true,
                 .vector_fast_modes = true,
                 .lnc2 = true,
                 .range_select = true,
                 .nonzero_with_count = true,
                 .gpsimd_rng = true,
                 .separate_ports = true},
};

}  // namespace kiln
