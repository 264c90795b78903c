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
#define KILN_KERNEL(name) .name = fast::name,
#include "kiln/num/kernels.def"
#undef KILN_KERNEL
  };
  static const bool able = cpu_is_able();
  return able ? table : plain_kernels();
}

}  // namespace kiln
