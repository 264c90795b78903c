#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kiln/num/activation_coefficients.h"
#include "kiln/num/plain/plain.h"

namespace kiln::plain {
namespace {

using F = float;
using V = double;
using U = std::uint64_t;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

V set(double c) { return c; }
F set_f(float c) { return c; }
V wide(F x) { return x; }
F rounded(V x) { return static_cast<float>(x); }
V fma(V a, V b, V c) { return std::fma(a, b, c); }
V fma_less(V a, V b, V c) { return std::fma(a, b, -c); }
V minus_fma(V a, V b, V c) { return std::fma(-a, b, -c); }
F with_sign(F magnitude, F sign) { return std::copysign(magnitude, sign); }
F times_sign(F x, F sign) { return std::signbit(sign) ? -x : x; }
template <class T>
T min(T c, T x) {
  return c < x ? c : x;
}
template <class T>
T max(T c, T x) {
  return c > x ? c : x;
}
template <class T>
T abs_of(T x) {
  return std::fabs(x);
}
template <class T>
T sqrt_of(T x) {
  return std::sqrt(x);
}
template <class T>
T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}
U bits(V x) { return std::bit_cast<U>(x); }
V from_bits(U x) { return std::bit_cast<V>(x); }
template <int kBits>
U shift_left(U x) {
  return x << kBits;
}
template <int kBits>
U shift_right(U x) {
  return x >> kBits;
}
U eighth_power(U index) { return kEighthPowers[index & 7]; }

#define KILN_INLINE inline
#include "kiln/num/activation_math.inc"
#undef KILN_INLINE

struct Row {
  const float* x;
  float scale, bias, param;
  float* out;
  std::size_t n;
};

template <F (*kFn)(F, F)>
void map(const Row& row) {
  for (std::size_t i = 0; i < row.n; ++i) row.out[i] = kFn(row.x[i] * row.scale + row.bias, row.param);
}

template <class Fn>
void map(const Row& row) {
  for (std::size_t i = 0; i < row.n; ++i) row.out[i] = Fn(row.x[i] * row.scale + row.bias, row.param).value();
}

}  // namespace

std::uint32_t scaled_activation(ActFn fn, const float* x, float scale, float bias, float param, float* out,
                                std::size_t n) {
  const Row row{x, scale, bias, param, out, n};
  switch (fn) {
#define KILN_ACTIVATION(name, ...) \
  case ActFn::name:                \
    map<act::name>(row);           \
    break;
#include "kiln/num/activations.def"
#undef KILN_ACTIVATION
  }
  return largest(sizeof *out, out, 1, n);
}

bool stays_within(float low, float high, bool magnitude, const float* x, float scale, float bias, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float scaled = x[i] * scale + bias, value = magnitude ? std::fabs(scaled) : scaled;
    if (!(value >= low && value <= high)) return false;
  }
  return true;
}

std::uint32_t activation(ActFn fn, const float* x, float param, float* out, std::size_t n) {
  if (fn == ActFn::copy) {
    if (n > 0) std::memmove(out, x, n * sizeof(float));
    return largest(sizeof *out, out, 1, n);
  }
  // x * 1 + -0 is x for every x, zeros included.
  return scaled_activation(fn, x, 1.0f, -0.0f, param, out, n);
}

}  // namespace kiln::plain
