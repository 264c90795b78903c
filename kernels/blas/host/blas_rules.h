// Rules about the arguments of routines.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::blas {

namespace blas_rules {
inline constexpr Rule kSize{1, "A size is not negative and fits in 31 bits.", "check the order of the arguments"};
inline constexpr Rule kStep{2, "Elements of a vector are apart: their increment is not 0.", "use 1 for a dense vector"};
inline constexpr Rule kLeading{3, "A leading dimension is at least the length of a row (row_major) or column.",
                               "a dense row-major matrix has its number of columns"};
inline constexpr Rule kWord{4, "A word of CBLAS is one of its values.", "see kernels/blas/host/types.h"};
inline constexpr Rule kBand{5, "A band with its diagonals fits its leading dimension.", "lda is at least kl + ku + 1"};

inline constexpr Rule kConverges{6,
                                 "A system of doubles that a device solves is well enough conditioned for corrections "
                                 "in float32 to converge.",
                                 "choose the backend native for it"};

inline constexpr Rule kRules[] = {kSize, kStep, kLeading, kWord, kBand, kConverges};
inline constexpr RuleTable kTable{"blas", "arguments of kiln::blas", kRules};
}  // namespace blas_rules

}  // namespace kiln::blas
