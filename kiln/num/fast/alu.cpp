#include <algorithm>
#include <cstring>

#include "kiln/num/fast/fast.h"
#include "kiln/num/fast/power.h"
#include "kiln/num/plain/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/alu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/arith-inl.h"
#include "kiln/num/fast/magnitude-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// AVX-512 alone has loads and stores of 8 and 16 bits with a mask. Elsewhere Highway reads whole vectors then, and
// writes them: what another thread has in its hands, or what is nobody's.
template <class T>
constexpr bool kHasMasks = HWY_TARGET <= HWY_AVX3 || sizeof(T) >= 4;

// The two kinds of operand: a row in memory and one value for all elements.
template <class T>
struct Row {
  const T* data;
  template <class D>
  HWY_INLINE hn::Vec<D> get(D d, std::size_t i) const {
    return hn::LoadU(d, data + i);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> get_part(D d, std::size_t i, std::size_t count) const {
    if constexpr (kHasMasks<T>) {
      return hn::MaskedLoad(hn::FirstN(d, count), d, data + i);
    } else {
      HWY_ALIGN T part[hn::MaxLanes(d)] = {};
      std::memcpy(part, data + i, count * sizeof(T));
      return hn::Load(d, part);
    }
  }
};

template <class T>
struct Same {
  T value;
  template <class D>
  HWY_INLINE hn::Vec<D> get(D d, std::size_t) const {
    return hn::Set(d, value);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> get_part(D d, std::size_t, std::size_t) const {
    return hn::Set(d, value);
  }
};

// The same of many rows.
struct Rows {
  const float* data;
  std::ptrdiff_t step;
  explicit Rows(const FloatRows& rows) : data(rows.data), step(rows.step) {}
  HWY_INLINE Row<float> at(std::size_t row) const { return {data + static_cast<std::ptrdiff_t>(row) * step}; }
};

struct Ones {
  const float* data;
  std::ptrdiff_t step;
  explicit Ones(const FloatRows& rows) : data(rows.data), step(rows.step) {}
  HWY_INLINE Same<float> at(std::size_t row) const { return {data[static_cast<std::ptrdiff_t>(row) * step]}; }
};

// Where results go.
struct OutRows {
  float* data;
  std::ptrdiff_t step;
  std::size_t rows, n;
};

// Gives the largest magnitude of the results.
template <class Fn, class A, class B>
std::uint32_t each_float(const Fn fn, const A all_a, const B all_b, const OutRows& to) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d), n = to.n;
  Magnitude<decltype(d)> magnitude;
  float* out = to.data;
  for (std::size_t row = 0; row < to.rows; ++row, out += to.step) {
    const auto a = all_a.at(row);
    const auto b = all_b.at(row);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const auto result = fn(d, a.get(d, i), b.get(d, i));
      magnitude.add(result);
      hn::StoreU(result, d, out + i);
    }
    if (i < n) {
      const auto result = fn(d, a.get_part(d, i, n - i), b.get_part(d, i, n - i));
      magnitude.add(result, n - i);
      hn::BlendedStore(result, hn::FirstN(d, n - i), d, out + i);
    }
  }
  return magnitude.largest();
}

template <class T, class Fn, class A, class B>
void each(const Fn fn, const A a, const B b, T* out, std::size_t n) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(fn(d, a.get(d, i), b.get(d, i)), d, out + i);
  if (i == n) return;
  const auto last = fn(d, a.get_part(d, i, n - i), b.get_part(d, i, n - i));
  if constexpr (kHasMasks<T>) {
    hn::BlendedStore(last, hn::FirstN(d, n - i), d, out + i);
  } else {
    HWY_ALIGN T part[hn::MaxLanes(d)];
    hn::Store(last, d, part);
    std::memcpy(out + i, part, (n - i) * sizeof(T));
  }
}

constexpr bool has_bits(AluClass cls) { return cls != AluClass::arith && cls != AluClass::unary; }
constexpr bool has_int(AluOp op) {
  return (op >= AluOp::add && op <= AluOp::minimum) || (op >= AluOp::equal && op <= AluOp::less_equal);
}

// Each returns false for an operator that it leaves to the plain kernels.
template <class A, class B>
bool alu(AluOp op, A a, B b, const OutRows& to, std::uint32_t& largest) {
  switch (op) {
#define KILN_ALU(name, cls, ...)                                                                               \
  case AluOp::name:                                                                                            \
    if constexpr (has_float(AluOp::name, AluClass::cls)) largest = each_float(Arith<AluOp::name>{}, a, b, to); \
    return has_float(AluOp::name, AluClass::cls);
#include "kiln/num/alu.def"
#undef KILN_ALU
  }
  return false;
}

template <class A, class B>
bool bits(AluOp op, int width_bits, A a, B b, std::uint32_t* out, std::size_t n) {
  const auto width = static_cast<std::uint32_t>(width_bits);
  switch (op) {
#define KILN_ALU(name, cls, ...)                                                         \
  case AluOp::name:                                                                      \
    if constexpr (has_bits(AluClass::cls)) each(Bits<AluOp::name>{width}, a, b, out, n); \
    return has_bits(AluClass::cls);
#include "kiln/num/alu.def"
#undef KILN_ALU
  }
  return false;
}

template <class T>
bool integer(AluOp op, Row<std::uint32_t> a, Row<std::uint32_t> b, std::uint32_t* out, std::size_t n) {
  switch (op) {
#define KILN_ALU(name, ...)                                                        \
  case AluOp::name:                                                                \
    if constexpr (has_int(AluOp::name)) each(Int<AluOp::name, T>{}, a, b, out, n); \
    return has_int(AluOp::name);
#include "kiln/num/alu.def"
#undef KILN_ALU
  }
  return false;
}

bool alu_rows(AluOp op, const FloatRows& a, const FloatRows& second, float* out, std::ptrdiff_t out_step,
              std::size_t rows, std::size_t n, std::uint32_t& largest) {
  const FloatRows& b = is_unary(op) || op == AluOp::bypass ? a : second;
  const OutRows to{out, out_step, rows, n};
  if (!a.one) return b.one ? alu(op, Rows(a), Ones(b), to, largest) : alu(op, Rows(a), Rows(b), to, largest);
  return b.one ? alu(op, Ones(a), Ones(b), to, largest) : alu(op, Ones(a), Rows(b), to, largest);
}
bool bits_vv(AluOp op, int width, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out, std::size_t n) {
  const bool one_operand = is_unary(op) || op == AluOp::bypass;
  return bits(op, width, Row<std::uint32_t>{a}, Row<std::uint32_t>{one_operand ? a : b}, out, n);
}
bool bits_vs(AluOp op, int width, const std::uint32_t* a, std::uint32_t b, bool swapped, std::uint32_t* out,
             std::size_t n) {
  const Row<std::uint32_t> row{a};
  const Same<std::uint32_t> same{b};
  return swapped ? bits(op, width, same, row, out, n) : bits(op, width, row, same, out, n);
}
bool int_vv(AluOp op, bool is_signed, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
            std::size_t n) {
  const Row<std::uint32_t> x{a}, y{b};
  return is_signed ? integer<std::int32_t>(op, x, y, out, n) : integer<std::uint32_t>(op, x, y, out, n);
}

// Of integers of 8 and 16 bits, which float32 computes with exactly: what does not fit becomes the nearest that does.
template <AluOp kOp>
struct NarrowInt {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    const V one = hn::Set(d, 1);
    if constexpr (kOp == AluOp::add) return hn::SaturatedAdd(x, y);
    if constexpr (kOp == AluOp::subtract) return hn::SaturatedSub(x, y);
    if constexpr (kOp == AluOp::maximum) return hn::Max(x, y);
    if constexpr (kOp == AluOp::minimum) return hn::Min(x, y);
    if constexpr (kOp == AluOp::equal) return hn::IfThenElseZero(hn::Eq(x, y), one);
    if constexpr (kOp == AluOp::not_equal) return hn::IfThenZeroElse(hn::Eq(x, y), one);
    if constexpr (kOp == AluOp::greater) return hn::IfThenElseZero(hn::Gt(x, y), one);
    if constexpr (kOp == AluOp::greater_equal) return hn::IfThenZeroElse(hn::Lt(x, y), one);
    if constexpr (kOp == AluOp::less) return hn::IfThenElseZero(hn::Lt(x, y), one);
    return hn::IfThenZeroElse(hn::Gt(x, y), one);  // less_equal
  }
};
constexpr bool has_narrow(AluOp op) { return has_int(op) && op != AluOp::multiply; }

template <class T>
bool alu_integers(AluOp op, const void* a, const void* b, void* out, std::size_t n) {
  const Row<T> x{static_cast<const T*>(a)}, y{static_cast<const T*>(b)};
  switch (op) {
#define KILN_ALU(name, ...)                                                                               \
  case AluOp::name:                                                                                       \
    if constexpr (has_narrow(AluOp::name)) each(NarrowInt<AluOp::name>{}, x, y, static_cast<T*>(out), n); \
    return has_narrow(AluOp::name);
#include "kiln/num/alu.def"
#undef KILN_ALU
  }
  return false;
}

// Of 8 or 16 bits.
bool has_nan(DType t, const void* x, std::size_t n) {
  const DTypeInfo& row = info(t);
  const std::uint32_t top = ((1u << row.exponent_bits) - 1) << row.mantissa_bits;
  const std::uint32_t last = row.has_infinity ? top : (top | ((1u << row.mantissa_bits) - 1)) - 1;
  return largest(row.size_bytes, x, 1, n) > last;
}

// maximum and minimum of floating-point numbers among which there is no NaN.
template <class T>
bool alu_in_order(AluOp op, const void* a, const void* b, void* out, std::size_t n) {
  const Row<T> x{static_cast<const T*>(a)}, y{static_cast<const T*>(b)};
  op == AluOp::maximum ? each(InOrder<AluOp::maximum>(), x, y, static_cast<T*>(out), n)
                       : each(InOrder<AluOp::minimum>(), x, y, static_cast<T*>(out), n);
  return true;
}

bool alu_narrow(AluOp op, DType t, const void* a, const void* b, void* out, std::size_t n) {
  const bool in_order =
      (op == AluOp::maximum || op == AluOp::minimum) && is_float(t) && !has_nan(t, a, n) && !has_nan(t, b, n);
  if (in_order && size_bytes(t) == 1) return alu_in_order<std::int8_t>(op, a, b, out, n);
  if (in_order && size_bytes(t) == 2) return alu_in_order<std::int16_t>(op, a, b, out, n);
  if (t == DType::int8) return alu_integers<std::int8_t>(op, a, b, out, n);
  if (t == DType::uint8) return alu_integers<std::uint8_t>(op, a, b, out, n);
  if (t == DType::int16) return alu_integers<std::int16_t>(op, a, b, out, n);
  return t == DType::uint16 && alu_integers<std::uint16_t>(op, a, b, out, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(alu_narrow);
HWY_EXPORT(alu_rows);
HWY_EXPORT(bits_vv);
HWY_EXPORT(bits_vs);
HWY_EXPORT(int_vv);

std::uint32_t alu_rows(AluOp op, const FloatRows& a, const FloatRows& b, float* out, std::ptrdiff_t out_step,
                       std::size_t rows, std::size_t n) {
  std::uint32_t largest = 0;
  if (op == AluOp::power) return power_rows(a, b, out, out_step, rows, n);
  return HWY_DYNAMIC_DISPATCH(alu_rows)(op, a, b, out, out_step, rows, n, largest)
             ? largest
             : plain::alu_rows(op, a, b, out, out_step, rows, n);
}
std::uint32_t alu_vv(AluOp op, const float* a, const float* b, float* out, std::size_t n) {
  return alu_rows(op, {a, 0, false}, {b, 0, false}, out, 0, 1, n);
}
std::uint32_t alu_vs(AluOp op, const float* a, float b, float* out, std::size_t n) {
  return alu_rows(op, {a, 0, false}, {&b, 0, true}, out, 0, 1, n);
}
std::uint32_t alu_sv(AluOp op, float a, const float* b, float* out, std::size_t n) {
  return alu_rows(op, {&a, 0, true}, {b, 0, false}, out, 0, 1, n);
}
void alu_narrow(AluOp op, DType t, const void* a, const void* b, void* out, std::size_t n) {
  if (HWY_DYNAMIC_DISPATCH(alu_narrow)(op, t, a, b, out, n)) return;
  constexpr std::size_t kPiece = 512;
  alignas(64) float x[kPiece], y[kPiece];
  for (std::size_t i = 0; i < n; i += kPiece) {
    const std::size_t count = std::min(kPiece, n - i), at = i * static_cast<std::size_t>(size_bytes(t));
    load(t, static_cast<const std::byte*>(a) + at, 1, count, x);
    if (!is_unary(op)) load(t, static_cast<const std::byte*>(b) + at, 1, count, y);
    alu_vv(op, x, y, x, count);
    store(t, x, count, static_cast<std::byte*>(out) + at, 1);
  }
}
void bits_vv(AluOp op, int width_bits, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
             std::size_t n) {
  if (!HWY_DYNAMIC_DISPATCH(bits_vv)(op, width_bits, a, b, out, n)) plain::bits_vv(op, width_bits, a, b, out, n);
}
void bits_vs(AluOp op, int width_bits, const std::uint32_t* a, std::uint32_t b, bool swapped, std::uint32_t* out,
             std::size_t n) {
  if (!HWY_DYNAMIC_DISPATCH(bits_vs)(op, width_bits, a, b, swapped, out, n))
    plain::bits_vs(op, width_bits, a, b, swapped, out, n);
}
void int_vv(AluOp op, bool is_signed, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
            std::size_t n) {
  if (!HWY_DYNAMIC_DISPATCH(int_vv)(op, is_signed, a, b, out, n)) plain::int_vv(op, is_signed, a, b, out, n);
}

}  // namespace kiln::fast
#endif
