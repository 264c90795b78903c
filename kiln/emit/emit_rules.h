// What no NKI source can say.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::emit {

namespace emit_rules {
inline constexpr Rule kWholeKernel{1, "What a kernel is given and gives back lies in HBM.",
                                   "a fragment has inputs or outputs on chip: copy them from and to HBM first"};
inline constexpr Rule kNewest{2, "A program that is emitted means the values of the newest NKI.",
                              "trace the kernel as NKI 0.6.0, whose values the emitted source would have"};
inline constexpr Rule kAddress{3,
                               "A run-time offset moves a view by whole steps of a dimension that its tensor can have.",
                               "declare the tensor in a shape whose dimension is the step"};
inline constexpr Rule kRegister{
    4,
    "A register, or an instruction that others wait for, is made once, before its use, and outside the loops on the "
    "device that the use stands outside of.",
    "move its register_alloc, or the dependency, out of the loop"};
inline constexpr Rule kDtype{5, "A tensor has a dtype that nki.language has, and an argument one that arrays have.",
                             "float8_e3m4 exists in the hardware only, tfloat32 inside kernels only"};

inline constexpr Rule kRules[] = {kWholeKernel, kNewest, kAddress, kRegister, kDtype};
inline constexpr RuleTable kTable{"emit", "a program as NKI source", kRules};
}  // namespace emit_rules

}  // namespace kiln::emit
