// The Python module finds out by itself which instruction sets the CPU has. Highway's own library is the oracle.
#include "python/src/linked_in/cpu_targets.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace kiln::python {
namespace {

TEST(CpuTargets, AreThoseOfHighway) {
#if HWY_ARCH_X86
  const std::int64_t known = HWY_AVX2 | HWY_AVX3;
#else
  const std::int64_t known = HWY_STATIC_TARGET;
#endif
  EXPECT_EQ(cpu_targets(), hwy::SupportedTargets() & known);
}

}  // namespace
}  // namespace kiln::python
