#include "kiln/tensor/ir/evaluate_elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/base/error.h"
#include "kiln/tensor/ir/type.h"

namespace kiln::tensor {
namespace {

using Int = std::int64_t;

double sign_of(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }
double relu_of(double x) { return x > 0 || std::isnan(x) ? x : 0; }
double gelu_of(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh_of(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double softplus_of(double x) { return std::log1p(std::exp(-std::fabs(x))) + (x > 0 ? x : 0); }
double larger(double x, double y) { return std::isnan(x) || x > y ? x : y; }
double smaller(double x, double y) { return std::isnan(x) || x < y ? x : y; }

double floor_mod(double x, double y) {
  double mod = std::fmod(x, y);
  if (y == 0) return mod;
  if (mod == 0) return std::copysign(0.0, y);
  return (y < 0) != (mod < 0) ? mod + y : mod;
}
// As CPython and NumPy do: the quotient fits the remainder, then it is snapped to the nearest integer.
double floor_div(double x, double y) {
  if (y == 0) return x / y;
  double mod = std::fmod(x, y);
  double div = (x - mod) / y;
  if (mod != 0 && (y < 0) != (mod < 0)) div -= 1;
  if (div == 0) return std::copysign(0.0, x / y);
  const double floored = std::floor(div);
  return div - floored > 0.5 ? floored + 1 : floored;
}
Int floor_div(Int x, Int y) {
  if (y == 0) return 0;
  const Int q = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}
Int floor_mod(Int x, Int y) { return y == 0 ? 0 : x - y * floor_div(x, y); }

// Wraps at 64 bits, and so at any smaller width.
Int int_power(Int x, Int y) {
  std::uint64_t out = 1, base = static_cast<std::uint64_t>(x);
  for (std::uint64_t n = y < 0 ? 0 : static_cast<std::uint64_t>(y); n; n >>= 1, base *= base) {
    if (n & 1) out *= base;
  }
  return static_cast<Int>(out);
}
Int shifted_left(Int x, Int y) { return y < 0 || y > 31 ? 0 : static_cast<Int>(static_cast<std::uint64_t>(x) << y); }
Int shifted_right(Int x, Int y) { return y < 0 || y > 31 ? (x < 0 ? -1 : 0) : x >> y; }

Int rest_of(Int x, Int y) { return y == 0 ? 0 : x % y; }

double sinc_of(double x) { return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x); }
// std::hypot, without the newest version of the system's library: a wheel serves older systems.
double length_of(double x, double y) {
  if (std::isinf(x) || std::isinf(y)) return std::numeric_limits<double>::infinity();
  const double largest = std::max(std::abs(x), std::abs(y));
  if (largest == 0 || std::isnan(x) || std::isnan(y)) return x * x + y * y;
  const double a = x / largest, b = y / largest;
  return largest * std::sqrt(a * a + b * b);
}

double log_add(double x, double y) {
  if (x == y) return x + std::log(2.0);
  return larger(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}
double log_add2(double x, double y) {
  if (x == y) return x + 1;
  return larger(x, y) + std::log1p(std::exp2(-std::fabs(x - y))) / std::log(2.0);
}
double step_of(double x, double y) { return std::isnan(x) ? x : x < 0 ? 0 : x > 0 ? 1 : y; }

struct None {};

double of_floats(OpCode code, double x, double y) {
  switch (code) {
#define KILN_UNARY(name, result, floats, integers, ...) \
  case OpCode::name:                                    \
    return floats;
#define KILN_BINARY(name, result, floats, integers, ...) \
  case OpCode::name:                                     \
    return floats;
#include "kiln/tensor/ir/ops.def"
    default:
      internal_error(__FILE__, __LINE__, "no elementwise op");
  }
  (void)y;
}

template <class T>
bool take(T value, Int& out) {
  if constexpr (std::is_same_v<T, None>)
    return false;
  else {
    out = static_cast<Int>(value);
    return true;
  }
}

bool of_integers(OpCode code, Int x, Int y, Int& out) {
  constexpr None none;
  (void)y;
  switch (code) {
#define KILN_UNARY(name, result, floats, integers, ...) \
  case OpCode::name:                                    \
    return take(integers, out);
#define KILN_BINARY(name, result, floats, integers, ...) \
  case OpCode::name:                                     \
    return take(integers, out);
#include "kiln/tensor/ir/ops.def"
    default:
      return false;
  }
}

}  // namespace

double apply(OpCode code, DType working, double x, double y) {
  Int out;
  if (!is_float(working) && of_integers(code, static_cast<Int>(x), static_cast<Int>(y), out)) {
    return working == DType::bool_ ? (code == OpCode::invert ? x == 0 : out != 0) : wrapped(working, out);
  }
  return of_floats(code, x, y);
}

}  // namespace kiln::tensor
