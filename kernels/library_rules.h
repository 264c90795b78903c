// The tables of rules of all libraries.
#pragma once

#include "kernels/backend/backend_rules.h"
#include "kernels/blas/config_rules.h"
#include "kernels/blas/host/blas_rules.h"
#include "kernels/fft/host/fft_rules.h"
#include "kernels/sparse/sparse_rules.h"

namespace kiln::kernels {

inline constexpr RuleTable kLibraryRules[] = {backend::backend_rules::kTable, config_rules::kTable,
                                              blas::blas_rules::kTable, sparse_rules::kTable, fft::fft_rules::kTable};

}  // namespace kiln::kernels
