// Attention with exp(scores) as they are, not relative to the largest score of a row. Keys lie on the partitions, so
// that weights need no turning, only the result does. It is exact while all sums of weights have a moderate size; a
// register says when one has not, and everything is to be done again with the largest scores.
#pragma once

#include "kernels/sparse/attention_parts.h"

namespace kiln::kernels {

// Whether a configuration can go this way, and gains by it.
bool goes_unshifted(const AttentionConfig& config);
// 1 in the register when a result is not to be relied on, else 0.
isa::Reg attend_unshifted(isa::Kernel& k, const AttentionConfig& config, const AttentionTensors& tensors,
                          const Masks& masks);

}  // namespace kiln::kernels
