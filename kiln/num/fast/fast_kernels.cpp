#include <hwy/targets.h>

#include "kiln/num/fast/fast.h"

namespace kiln {

namespace {

// The other files of this folder are compiled for AVX2 with FMA at least; elsewhere for what the architecture
// always has.
bool cpu_is_able() {
#if HWY_ARCH_X86
  return (hwy::SupportedTargets() & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)) != 0;
#else
  return true;
#endif
}

}  // namespace

const Kernels& fast_kernels() {
  static constexpr Kernels table = {
      .load = fast::load,
      .store = fast::store,
      .load_bits = fast::load_bits,
      .store_bits = fast::store_bits,
      .alu_vv = fast::alu_vv,
      .alu_vs = fast::alu_vs,
      .alu_sv = fast::alu_sv,
      .bits_vv = fast::bits_vv,
      .bits_vs = fast::bits_vs,
      .int_vv = fast::int_vv,
      .activation = fast::activation,
      .scaled_activation = fast::scaled_activation,
      .fold_rows = fast::fold_rows,
      .matmul = fast::matmul,
      .transpose = fast::transpose,
  };
  static const bool able = cpu_is_able();
  return able ? table : plain_kernels();
}

}  // namespace kiln
