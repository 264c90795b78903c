#include "kernels/blas/config_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace kiln::kernels {
using namespace config_rules;

namespace {

void require(const Rule& rule, bool holds, const std::string& found) {
  if (!holds) raise(kTable, rule, {.found = found});
}

}  // namespace

void require_sizes(const char* what, std::initializer_list<std::int64_t> sizes) {
  require(kSizes, std::all_of(sizes.begin(), sizes.end(), [](std::int64_t s) { return s > 0; }),
          fmt::format("{} of sizes {}", what, fmt::join(sizes, ", ")));
}

void require_alpha(const char* what, Scalar alpha) {
  require(kAlpha, alpha != Scalar::zero, fmt::format("{} with alpha zero", what));
}

void require_float(const char* what, DType dtype) {
  require(kDtype, dtype == DType::float32 || dtype == DType::bfloat16, fmt::format("{} of {}", what, name(dtype)));
}

void require_gemm(const char* what, const GemmConfig& c) {
  require_sizes(what, {c.m, c.n, c.k});
  require_alpha(what, c.alpha);
  require_float(what, c.dtype);
  require_float(what, c.c_dtype());
  require(kPrecision, c.precision == Precision::native || c.dtype == DType::float32,
          fmt::format("{} of {} with a precision", what, name(c.dtype)));
}

}  // namespace kiln::kernels
