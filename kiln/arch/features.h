// What a generation can do that an older one cannot.
#pragma once

namespace kiln {

struct Features {
  bool hwdge = false;         // descriptors made by hardware
  bool dma_priority = false;  // four classes of service
  bool dma_indirect_transpose = false;
  bool tensor_transpose_mode = false;  // bit-exact transpose with 16-bit results in PSUM
  bool double_row = false;             // fp8 matmul with twice the rows
  bool row_tile_32 = false;            // 32-row and 32-column tiles of the tensor engine
  bool mx = false;                     // microscaling formats
  bool float8_e4m3fn = false;
  bool psum_bfloat16 = false;      // bfloat16 matmul results, results that span banks
  bool scalar_tensor_ops = false;  // tensor_copy and tensor_scalar on the scalar engine
  bool scalar_subtract = false;    // subtract in such a tensor_scalar
  bool scalar_immediate_bias = false;
  bool vector_fast_modes = false;
  bool vector_xorwow = false;
  bool gpsimd_rng = false;
  bool indirect = false;              // gathered and scattered free dimension
  bool lnc2 = false;                  // two cores as one logical core
  bool background_transpose = false;  // a transpose on the tensor engine beside another matmul
  bool separate_ports = false;        // vector and gpsimd on SBUF, vector and scalar on PSUM at the same time
};

}  // namespace kiln
