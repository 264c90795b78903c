#include <cstring>

#include "kiln/num/fast/fast.h"
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
    T part[hn::MaxLanes(d)] = {};
    std::memcpy(part, data + i, count * sizeof(T));
    return hn::LoadU(d, part);
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

// Gives the largest magnitude of the results.
template <class Fn, class A, class B>
std::uint32_t each_float(const Fn fn, const A a, const B b, float* out, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  Magnitude<decltype(d)> magnitude;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto result = fn(d, a.get(d, i), b.get(d, i));
    magnitude.add(result);
    hn::StoreU(result, d, out + i);
  }
  if (i < n) {
    float part[hn::MaxLanes(d)];
    const auto result = fn(d, a.get_part(d, i, n - i), b.get_part(d, i, n - i));
    magnitude.add(result, n - i);
    hn::StoreU(result, d, part);
    std::memcpy(out + i, part, (n - i) * sizeof(float));
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
  T part[hn::MaxLanes(d)];
  hn::StoreU(fn(d, a.get_part(d, i, n - i), b.get_part(d, i, n - i)), d, part);
  std::memcpy(out + i, part, (n - i) * sizeof(T));
}

constexpr bool has_float(AluOp op, AluClass cls) {
  return cls != AluClass::bitvec && cls != AluClass::bitvec_unary && op != AluOp::power && op != AluOp::average;
}
constexpr bool has_bits(AluClass cls) { return cls != AluClass::arith && cls != AluClass::unary; }
constexpr bool has_int(AluOp op) {
  return (op >= AluOp::add && op <= AluOp::minimum) || (op >= AluOp::equal && op <= AluOp::less_equal);
}

// Each returns false for an operator that it leaves to the plain kernels.
template <class A, class B>
bool alu(AluOp op, A a, B b, float* out, std::size_t n, std::uint32_t& largest) {
  switch (op) {
#define KILN_ALU(name, cls, ...)                                                                                   \
  case AluOp::name:                                                                                                \
    if constexpr (has_float(AluOp::name, AluClass::cls)) largest = each_float(Arith<AluOp::name>{}, a, b, out, n); \
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

bool alu_vv(AluOp op, const float* a, const float* b, float* out, std::size_t n, std::uint32_t& largest) {
  return alu(op, Row<float>{a}, Row<float>{is_unary(op) || op == AluOp::bypass ? a : b}, out, n, largest);
}
bool alu_vs(AluOp op, const float* a, float b, float* out, std::size_t n, std::uint32_t& largest) {
  return alu(op, Row<float>{a}, Same<float>{b}, out, n, largest);
}
bool alu_sv(AluOp op, float a, const float* b, float* out, std::size_t n, std::uint32_t& largest) {
  if (is_unary(op) || op == AluOp::bypass) return alu(op, Same<float>{a}, Same<float>{a}, out, n, largest);
  return alu(op, Same<float>{a}, Row<float>{b}, out, n, largest);
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

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(alu_vv);
HWY_EXPORT(alu_vs);
HWY_EXPORT(alu_sv);
HWY_EXPORT(bits_vv);
HWY_EXPORT(bits_vs);
HWY_EXPORT(int_vv);

std::uint32_t alu_vv(AluOp op, const float* a, const float* b, float* out, std::size_t n) {
  std::uint32_t largest = 0;
  return HWY_DYNAMIC_DISPATCH(alu_vv)(op, a, b, out, n, largest) ? largest : plain::alu_vv(op, a, b, out, n);
}
std::uint32_t alu_vs(AluOp op, const float* a, float b, float* out, std::size_t n) {
  std::uint32_t largest = 0;
  return HWY_DYNAMIC_DISPATCH(alu_vs)(op, a, b, out, n, largest) ? largest : plain::alu_vs(op, a, b, out, n);
}
std::uint32_t alu_sv(AluOp op, float a, const float* b, float* out, std::size_t n) {
  std::uint32_t largest = 0;
  return HWY_DYNAMIC_DISPATCH(alu_sv)(op, a, b, out, n, largest) ? largest : plain::alu_sv(op, a, b, out, n);
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
