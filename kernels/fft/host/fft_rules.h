// Rules about the arguments of kiln::fft.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::fft {

namespace fft_rules {
inline constexpr Rule kSizes{1, "A transform has at least one row of at least one number.", "leave out the call"};
inline constexpr Rule kLength{2, "A device transforms rows of at most 2^24 numbers.",
                              "choose the backend native for it"};
inline constexpr Rule kPair{3,
                            "A pair of cores shares rows, or one row by up to three factors, on a chip that has pairs.",
                            "use one core for it"};
inline constexpr Rule kRules[] = {kSizes, kLength, kPair};
inline constexpr RuleTable kTable{"fft", "arguments of kiln::fft", kRules};
}  // namespace fft_rules

}  // namespace kiln::fft
