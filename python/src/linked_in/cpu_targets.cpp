#include "python/src/linked_in/cpu_targets.h"

#include <hwy/detect_targets.h>

namespace kiln::python {

#if HWY_ARCH_X86

std::int64_t cpu_targets() {
  __builtin_cpu_init();
  // What Highway lets the compiler use for each set (hwy/ops/set_macros-inl.h).
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("aes") &&
                    __builtin_cpu_supports("pclmul");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return (avx2 ? HWY_AVX2 : 0) | (avx3 ? HWY_AVX3 : 0);
}

#else

std::int64_t cpu_targets() { return HWY_STATIC_TARGET; }

#endif

}  // namespace kiln::python
