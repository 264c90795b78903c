// The elements of a sparse matrix as row buckets take them: plans of patterns, and values in their places.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/sparse/row_buckets.h"
#include "kiln/num/few_places.h"

namespace kiln::sparse {

using PlanRef = std::shared_ptr<const kernels::BucketPlan>;

// The plans of the last keys, which a caller is likely to come with again.
PlanRef cached_plan(const std::string& key, const std::function<kernels::BucketPlan()>& make);

struct GiveBack {
  std::size_t bytes = 0;
  void operator()(float* memory) const;
};
using SpareFloats = std::unique_ptr<float[], GiveBack>;  // in huge pages, which reading rows far apart is glad of

struct BucketValues {
  std::vector<float> slots;  // [128, slots]
  SpareFloats blocks;        // [128, tiles, 128]: mostly zeros
  FewPlaces in_blocks;       // where they are none
};
// Elements in the order of the pattern, in memory that the thread keeps for its next call: with the same plan all that
// is no element is zero already. Valid until then.
BucketValues& bucket_values(const PlanRef& plan, const float* values);

}  // namespace kiln::sparse
