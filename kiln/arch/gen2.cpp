// NeuronCore-v2 (trn1). Sources: aws-neuron/aws-neuron-sdk nki/guides/architecture,
// nki/deep-dives/nki-dma-bandwidth-guide.rst; cost constants from the API notes up to release 2.26 and
// published traces.
#include "kiln/arch/generations.h"

namespace kiln {

const Arch kGen2 = {
    .target = Target::trn1,
    .name = "trn1",
    .generation_name = "gen2",
    .core_name = "NeuronCore-v2",
    .generation = 2,
    .partitions = 128,
    .sbuf_partition_bytes = 192 * 1024,
    .sbuf_reserved_bytes = 16 * 1024 + 8,
    .psum_partition_bytes = 16 * 1024,
    .psum_bank_bytes = 2048,
    .psum_banks = 8,
    .hbm_bytes = 32LL << 30,
    .hbm_bytes_per_ns = 410,
    .cores = 2,
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
        /* tensor  */ {2.8, 128, 1, 1, 1, 0, 0, 64},
        /* scalar  */ {1.4, 128, 1, 1, 1, 64, 0, 64},
        /* gpsimd  */ {1.4, 128, 1, 1, 1, 0, 150, 64},
        /* dma     */ {},
        /* vector  */ {1.12, 128, 1, 1, 1, 64, 0, 64},
        /* sync    */ {1.4, 0, 0, 0, 0, 0, 0, 64},
    },
    .dma = {16, 17, 27.2, 1300, 600, 249, 8, 0.1, 0.1, 0.5, 0},
    .features = {},
};

}  // namespace kiln
