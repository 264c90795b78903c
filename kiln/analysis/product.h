// Product: what an instruction of the tensor engine multiplies.
#pragma once

#include "kiln/isa/inst_view.h"

namespace kiln::analysis {

struct Product {
  double macs = 0;  // multiply-adds that the sums in its destination are made of
  // Floating-point operations at their cost in bfloat16 operations: a float32 one counts matmul_fp32_passes times, as
  // in the vendor's profiler. A transpose is a product with an identity.
  double flops = 0;
  bool is_matmul = false;  // nc_matmul and nc_matmul_mx
  bool transposes = false;
};

// All zero of an instruction that multiplies no matrices.
Product product_of(const isa::InstView& inst, const Arch& arch);

}  // namespace kiln::analysis
