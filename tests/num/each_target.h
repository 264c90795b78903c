// Tests of fast kernels that run once for each instruction set that this CPU has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <string>
#include <vector>

namespace kiln::test {

// The best instruction set that the fast kernels see from now on; 0: what the CPU has.
inline void limit_to(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().DeInit();
}

// The instruction set given by the parameter is the best that the fast kernels see.
class EachTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { limit_to(GetParam()); }
  void TearDown() override { limit_to(0); }
};

inline std::vector<std::int64_t> targets_of_this_cpu() {
  std::vector<std::int64_t> targets;
  for (const std::int64_t target : {HWY_AVX2, HWY_AVX3}) {
    if (hwy::SupportedTargets() & target) targets.push_back(target);
  }
  if (targets.empty()) targets.push_back(hwy::SupportedTargets());
  return targets;
}

inline std::string target_name(const testing::TestParamInfo<std::int64_t>& info) { return hwy::TargetName(info.param); }

}  // namespace kiln::test
