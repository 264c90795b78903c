// Windows that slide over the last dimensions of a tensor: convolutions and pools.
#pragma once

#include "kiln/tensor/ir/op.h"
#include "kiln/tensor/ir/type.h"

namespace kiln::tensor {

// Along one dimension: `size` elements, `spread` apart with zeros between, a border of `low` and `high`; every
// `stride`-th window of `taps` elements, `dilation` apart.
struct Window {
  std::int64_t size = 1, taps = 1, stride = 1, low = 0, high = 0, dilation = 1, spread = 1;
  std::int64_t padded() const { return (size - 1) * spread + 1 + low + high; }
  std::int64_t reach() const { return (taps - 1) * dilation + 1; }  // of a window
  std::int64_t count() const { return padded() < reach() ? 0 : (padded() - reach()) / stride + 1; }
  bool is_plain() const { return low == 0 && high == 0 && spread == 1; }
};

}  // namespace kiln::tensor
