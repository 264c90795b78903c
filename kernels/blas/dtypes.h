// Short names of the dtypes that kernels compute with.
#pragma once

#include "kiln/base/dtype.h"

namespace kiln::kernels {

inline constexpr DType f32 = DType::float32;

}  // namespace kiln::kernels
