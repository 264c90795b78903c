// Rules about the choice of who computes.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::backend {

namespace backend_rules {
inline constexpr Rule kKnown{1, "A backend has one of the known names.", "choose one of those named"};
inline constexpr Rule kPresent{2, "The backend neuron needs the package nki, through which it runs.",
                               "install the vendor's package, or choose simulator or native"};
inline constexpr Rule kKernel{3, "A call on the simulator or a device has a kernel.",
                              "choose the backend native for it"};
inline constexpr Rule kChip{4, "A chip has one of the known names.", "choose one of those named"};

inline constexpr Rule kRules[] = {kKnown, kPresent, kKernel, kChip};
inline constexpr RuleTable kTable{"backend", "who computes a call", kRules, Category::config};
}  // namespace backend_rules

}  // namespace kiln::backend
