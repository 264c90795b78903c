// The rules of the configurations that kernels are built from.
#pragma once

#include <initializer_list>

#include "kernels/blas/gemm.h"
#include "kiln/base/rule.h"

namespace kiln::kernels {

namespace config_rules {

inline constexpr Rule kSizes{1, "sizes are positive", "leave out the call: there is nothing to compute"};
inline constexpr Rule kDtype{2, "the dtype is float32 or bfloat16", "convert the operands"};
inline constexpr Rule kPrecision{3, "a precision other than native splits float32 operands",
                                 "pass float32 operands, or leave precision out"};
inline constexpr Rule kAlpha{4, "alpha is one or given", "with alpha zero there is no product: scale c by beta"};
inline constexpr Rule kBlocking{5,
                                "the tiles of a block fit into PSUM: m_tiles * n_tiles is at most 8, on trn1 6 with a "
                                "transposed operand",
                                "use smaller blocks, or leave them to the kernel with 0"};
inline constexpr Rule kProducts{6, "a complex product is made of 3 or 4 real ones", "pass products 3 or 4"};
inline constexpr Rule kOneKind{7,
                               "the products of a list have one kind of alpha and of beta, and there is one at least",
                               "make a list for each kind"};

inline constexpr Rule kRules[] = {kSizes, kDtype, kPrecision, kAlpha, kBlocking, kProducts, kOneKind};
inline constexpr RuleTable kTable{"kernels", "configurations of library kernels", kRules};

}  // namespace config_rules

// Each throws Error when its rule is broken; `what` names the kernel.
void require_sizes(const char* what, std::initializer_list<std::int64_t> sizes);
void require_alpha(const char* what, Scalar alpha);
void require_float(const char* what, DType dtype);
void require_gemm(const char* what, const GemmConfig& config);

}  // namespace kiln::kernels
