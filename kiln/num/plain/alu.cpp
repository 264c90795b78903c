#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kiln/base/error.h"
#include "kiln/num/plain/arith.h"
#include "kiln/num/plain/plain.h"

namespace kiln::plain {

namespace {

[[noreturn]] void refuse(const char* kernel, AluOp op) {
  internal_error(__FILE__, __LINE__, std::string(kernel) + " kernel has no operator " + std::string(name(op)));
}

float truth(bool value) { return value ? 1.0f : 0.0f; }

float maximum(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<float>::quiet_NaN();
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

float minimum(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<float>::quiet_NaN();
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

std::uint32_t bits(AluOp op, std::uint32_t width, std::uint32_t x, std::uint32_t y) {
  const std::uint32_t mask = ~std::uint32_t{0} >> (32 - width);
  switch (op) {
    case AluOp::invert:
      return ~x & mask;
    case AluOp::bitwise_and:
      return x & y & mask;
    case AluOp::bitwise_or:
      return (x | y) & mask;
    case AluOp::bitwise_xor:
      return (x ^ y) & mask;
    case AluOp::left_shift:
      return y < width ? (x << y) & mask : 0;
    case AluOp::right_shift:
      return y < width ? (x >> y) & mask : 0;
    case AluOp::bypass:
      return x & mask;
    default:
      refuse("bits", op);
  }
}

// T is the signed or the unsigned reading of the bits; add, subtract and multiply are the same for both.
template <class T>
std::uint32_t integer(AluOp op, std::uint32_t x, std::uint32_t y) {
  const T a = static_cast<T>(x), b = static_cast<T>(y);
  switch (op) {
    case AluOp::add:
      return x + y;
    case AluOp::subtract:
      return x - y;
    case AluOp::multiply:
      return x * y;
    case AluOp::maximum:
      return static_cast<std::uint32_t>(std::max(a, b));
    case AluOp::minimum:
      return static_cast<std::uint32_t>(std::min(a, b));
    case AluOp::equal:
      return a == b;
    case AluOp::not_equal:
      return a != b;
    case AluOp::greater:
      return a > b;
    case AluOp::greater_equal:
      return a >= b;
    case AluOp::less:
      return a < b;
    case AluOp::less_equal:
      return a <= b;
    default:
      refuse("int", op);
  }
}

}  // namespace

float arith(AluOp op, float x, float y) {
  switch (op) {
    case AluOp::add:
      return x + y;
    case AluOp::subtract:
      return x - y;
    case AluOp::multiply:
      return x * y;
    case AluOp::maximum:
      return maximum(x, y);
    case AluOp::minimum:
      return minimum(x, y);
    case AluOp::equal:
      return truth(x == y);
    case AluOp::not_equal:
      return truth(x != y);
    case AluOp::greater:
      return truth(x > y);
    case AluOp::greater_equal:
      return truth(x >= y);
    case AluOp::less:
      return truth(x < y);
    case AluOp::less_equal:
      return truth(x <= y);
    case AluOp::logical_and:
      return truth(x != 0 && y != 0);
    case AluOp::logical_or:
      return truth(x != 0 || y != 0);
    case AluOp::logical_xor:
      return truth((x != 0) != (y != 0));
    case AluOp::power:
      return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
    case AluOp::abs_max:
      return std::fabs(x) > std::fabs(y) ? x : y;
    case AluOp::abs_min:
      return std::fabs(x) < std::fabs(y) ? x : y;
    case AluOp::abs:
      return std::fabs(x);
    case AluOp::square:
      return x * x;
    case AluOp::relu:
      return maximum(0.0f, x);
    case AluOp::rsqrt:
      return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
    case AluOp::reciprocal:
      return 1.0f / x;
    case AluOp::bypass:
      return x;
    default:
      refuse("float", op);
  }
}

std::uint32_t alu_vv(AluOp op, const float* a, const float* b, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = arith(op, a[i], is_unary(op) ? 0.0f : b[i]);
  return largest(sizeof *out, out, 1, n);
}

std::uint32_t alu_vs(AluOp op, const float* a, float b, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = arith(op, a[i], b);
  return largest(sizeof *out, out, 1, n);
}

std::uint32_t alu_sv(AluOp op, float a, const float* b, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = arith(op, a, is_unary(op) ? 0.0f : b[i]);
  return largest(sizeof *out, out, 1, n);
}

std::uint32_t alu_rows(AluOp op, const FloatRows& a, const FloatRows& b, float* out, std::ptrdiff_t out_step,
                       std::size_t rows, std::size_t n) {
  std::uint32_t found = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::ptrdiff_t>(r);
    const FloatRows& second = is_unary(op) || op == AluOp::bypass ? a : b;  // b need not be there
    const float *x = a.data + row * a.step, *y = second.data + row * second.step;
    float* to = out + row * out_step;
    for (std::size_t i = 0; i < n; ++i) to[i] = arith(op, x[a.one ? 0 : i], y[second.one ? 0 : i]);
    found = std::max(found, largest(sizeof *to, to, 1, n));
  }
  return found;
}

std::uint32_t alu_pairs(AluOp op, const FloatPairs& a, const FloatPairs& b, float* out, std::ptrdiff_t out_step,
                        std::size_t rows, std::size_t n, bool first_only) {
  std::uint32_t found = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::ptrdiff_t>(r);
    const float *x = a.data + row * a.step, *y = b.data + row * b.step;
    float* to = out + row * out_step;
    for (std::size_t i = 0; i < n; ++i, x += 2, y += 2, to += 2) {
      const float first = arith(op, *x, *y), second = first_only ? 0.0f : arith(op, x[a.second], y[b.second]);
      const float results[] = {first, second};
      const std::size_t count = first_only ? 1 : 2;
      std::copy_n(results, count, to);
      found = std::max(found, largest(sizeof *to, to, 1, count));
    }
  }
  return found;
}

void alu_narrow(AluOp op, DType t, const void* a, const void* b, void* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = i * static_cast<std::size_t>(size_bytes(t));
    float x, y = 0.0f;
    load(t, static_cast<const std::byte*>(a) + at, 1, 1, &x);
    if (!is_unary(op)) load(t, static_cast<const std::byte*>(b) + at, 1, 1, &y);
    const float result = arith(op, x, y);
    store(t, &result, 1, static_cast<std::byte*>(out) + at, 1);
  }
}

void bits_vv(AluOp op, int width_bits, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
             std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = bits(op, width_bits, a[i], is_unary(op) ? 0 : b[i]);
}

void bits_vs(AluOp op, int width_bits, const std::uint32_t* a, std::uint32_t b, bool swapped, std::uint32_t* out,
             std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = swapped ? bits(op, width_bits, b, a[i]) : bits(op, width_bits, a[i], b);
}

void int_vv(AluOp op, bool is_signed, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
            std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    out[i] = is_signed ? integer<std::int32_t>(op, a[i], b[i]) : integer<std::uint32_t>(op, a[i], b[i]);
}

}  // namespace kiln::plain
