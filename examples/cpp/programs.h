// The example kernels, written with the builder: rolled loops, any shape, remainders included.
#pragma once

#include "kiln/isa/builder/builder.h"

namespace kiln::examples {

// out[R, C] = x + y.
isa::Program tensor_add(std::int64_t rows, std::int64_t columns, Target target);

// c[M, N] = a_t[K, M]ᵀ · b[K, N], accumulated in float32.
isa::Program gemm(std::int64_t M, std::int64_t K, std::int64_t N, DType dtype, Target target);

// out[R, C] = softmax of each row of x. Rows that do not fit into SBUF are streamed in three passes.
isa::Program softmax(std::int64_t rows, std::int64_t columns, Target target);

// out[R, C] = x / sqrt(mean(x²) + 1e-6) · gain[C].
isa::Program rms_norm(std::int64_t rows, std::int64_t columns, Target target);

// out[H, S, D] = softmax(q kᵀ / sqrt D) v with an online softmax over blocks of keys. Inputs q_t and k_t are
// [H, D, S], v is [H, S, D]; D is at most 128.
isa::Program attention(std::int64_t heads, std::int64_t sequence, std::int64_t depth, Target target);

// Complex product of split operands: (c_re + i c_im)[M, N] = (a_re + i a_im)ᵀ · (b_re + i b_im).
isa::Program complex_gemm(std::int64_t M, std::int64_t K, std::int64_t N, Target target);

// c[RB · 128, N] = block-sparse matrix times b[CB · 128, N]. Blocks are 128 x 128, transposed, in `blocks`;
// `row_start` and `column` are the block-CSR structure, read at run time through registers.
isa::Program block_sparse(std::int64_t row_blocks, std::int64_t column_blocks, std::int64_t block_count, std::int64_t N,
                          Target target);

}  // namespace kiln::examples
