// Rules of sparse kernels and of the arguments of kiln::sparse.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::kernels {

namespace sparse_rules {
inline constexpr Rule kPattern{1, "A pattern has tiles inside its matrix, by rows, with ascending columns.",
                               "convert the matrix with kiln::sparse, which sorts and checks"};
inline constexpr Rule kHead{2, "A head of attention has 1 to 512 elements.", "split the head, or use fewer elements"};
inline constexpr Rule kDtype{3, "Elements are float32, or bfloat16 where the kernel has it.", "convert the operands"};
inline constexpr Rule kSize{4, "A size is not negative, and what is computed fits the chip's memory.",
                            "see the kernel's header for what it keeps in SBUF"};
inline constexpr Rule kIndex{5, "Indices lie inside the matrix, and starts ascend from 0 to the number of elements.",
                             "check the order of the arguments"};

inline constexpr Rule kRules[] = {kPattern, kHead, kDtype, kSize, kIndex};
inline constexpr RuleTable kTable{"sparse", "arguments of kiln::sparse", kRules};
}  // namespace sparse_rules

}  // namespace kiln::kernels
