// The operators on rows of bfloat16, which pass through float32 in registers only.
#include <algorithm>
#include <type_traits>

#include "kiln/num/fast/fast.h"
#include "kiln/num/plain/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/alu_bfloat16.cpp"  // NOLINT: the name is Highway's
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/arith-inl.h"
#include "kiln/num/fast/codecs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr std::size_t kStep = 2 * kLanes;

using Raw = hn::Repartition<std::uint16_t, D>;

// A vector of elements as float32: the second of each two elements are already where float32 has its upper half.
struct Pair {
  V even, odd;
};

HWY_INLINE Pair widened(hn::Vec<Raw> x) {
  const hn::RebindToUnsigned<D> du;
  const auto words = hn::BitCast(du, x);
  return {hn::BitCast(D(), hn::ShiftLeft<16>(words)), hn::BitCast(D(), hn::And(words, hn::Set(du, 0xffff0000u)))};
}

// A signalling NaN becomes quiet where the result is rounded, if it has come through.
struct Elements {
  const std::uint16_t* data;
  HWY_INLINE hn::Vec<Raw> raw(std::size_t i) const { return hn::LoadU(Raw(), data + i); }
  HWY_INLINE Pair get(std::size_t i) const { return widened(raw(i)); }
  // The elements from `first` on, in a buffer of their own.
  Elements rest(std::size_t first, std::size_t n, std::uint16_t* buffer) const {
    std::copy(data + first, data + n, buffer);
    return {buffer};
  }
};

struct Number {
  float value;
  HWY_INLINE Pair get(std::size_t) const { return {hn::Set(D(), value), hn::Set(D(), value)}; }
  Number rest(std::size_t, std::size_t, std::uint16_t*) const { return *this; }
};

// The upper halves, once rounded, are the elements. NaNs are rare and looked for in both at once: one makes a NaN of
// their sum, as opposite infinities do.
HWY_INLINE hn::Vec<Raw> rounded(const Pair& x) {
  const hn::RebindToUnsigned<D> du;
  const auto to_even = [&](V value) HWY_ATTR {
    const auto bits = hn::BitCast(du, value);
    const auto is_odd = hn::TestBit(bits, hn::Set(du, 0x10000u));
    return hn::Add(bits, hn::IfThenElse(is_odd, hn::Set(du, 0x8000u), hn::Set(du, 0x7fffu)));
  };
  auto even = to_even(x.even), odd = to_even(x.odd);
  if (HWY_UNLIKELY(!hn::AllFalse(D(), hn::IsNaN(hn::Add(x.even, x.odd))))) {
    even = round_bits<16>(du, hn::BitCast(du, x.even));
    odd = round_bits<16>(du, hn::BitCast(du, x.odd));
  }
  return hn::OddEven(hn::BitCast(Raw(), odd), hn::BitCast(Raw(), hn::ShiftRight<16>(even)));
}

// An operator by way of float32.
template <AluOp kOp>
struct InFloat {
  template <class A, class B>
  HWY_INLINE hn::Vec<Raw> operator()(const A& a, const B& b, std::size_t i) const {
    const Pair x = a.get(i), y = b.get(i);
    const Arith<kOp> fn;
    return rounded({fn(D(), x.even, y.even), fn(D(), x.odd, y.odd)});
  }
};

// maximum and minimum of elements as they are. NaN has no place there and goes by way of float32.
template <AluOp kOp>
struct AsBits {
  HWY_INLINE hn::Vec<Raw> operator()(const Elements& a, const Elements& b, std::size_t i) const {
    const hn::RebindToSigned<Raw> di;
    const auto x = a.raw(i), y = b.raw(i);
    const auto magnitude = hn::Max(hn::Add(x, x), hn::Add(y, y));
    if (HWY_UNLIKELY(!hn::AllFalse(Raw(), hn::Gt(magnitude, hn::Set(Raw(), 0xff00))))) return InFloat<kOp>()(a, b, i);
    return hn::BitCast(Raw(), InOrder<kOp>()(di, hn::BitCast(di, x), hn::BitCast(di, y)));
  }
};

template <AluOp kOp, class A, class B>
auto way_of() {
  constexpr bool kElements = std::is_same_v<A, Elements> && std::is_same_v<B, Elements>;
  if constexpr (kElements && (kOp == AluOp::maximum || kOp == AluOp::minimum)) {
    return AsBits<kOp>{};
  } else {
    return InFloat<kOp>{};
  }
}

// The largest of elements that were written.
class Largest {
 public:
  HWY_INLINE Largest() : found_(hn::Zero(Raw())) {}
  HWY_INLINE void add(hn::Vec<Raw> x) { found_ = hn::Max(found_, hn::Add(x, x)); }  // shifts the sign out
  HWY_INLINE std::uint32_t get() const {
    alignas(64) std::uint16_t lanes[kStep];
    hn::Store(found_, Raw(), lanes);
    return *std::max_element(lanes, lanes + kStep) / 2u;
  }

 private:
  hn::Vec<Raw> found_;
};

template <class Way, class A, class B>
std::uint32_t each(const Way way, const A a, const B b, std::uint16_t* out, std::size_t n) {
  Largest largest;
  std::size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    const auto result = way(a, b, i);
    largest.add(result);
    hn::StoreU(result, Raw(), out + i);
  }
  if (i == n) return largest.get();
  std::uint16_t left[kStep] = {}, right[kStep] = {}, results[kStep];
  const auto result = way(a.rest(i, n, left), b.rest(i, n, right), 0);
  largest.add(hn::IfThenElseZero(hn::FirstN(Raw(), n - i), result));
  hn::StoreU(result, Raw(), results);
  std::copy_n(results, n - i, out + i);
  return largest.get();
}

// False for an operator that is left to the plain kernels.
template <class A, class B>
bool alu(AluOp op, A a, B b, std::uint16_t* out, std::size_t n, std::uint32_t& largest) {
  switch (op) {
#define KILN_ALU(name, cls, ...)                                                                                    \
  case AluOp::name:                                                                                                 \
    if constexpr (has_float(AluOp::name, AluClass::cls)) largest = each(way_of<AluOp::name, A, B>(), a, b, out, n); \
    return has_float(AluOp::name, AluClass::cls);
#include "kiln/num/alu.def"
#undef KILN_ALU
  }
  return false;
}

}  // namespace

bool alu_bfloat16(AluOp op, const Bfloat16Row& a, const Bfloat16Row& second, std::uint16_t* out, std::size_t n,
                  std::uint32_t& largest) {
  const Bfloat16Row& b = is_unary(op) || op == AluOp::bypass ? a : second;
  if (!a.data) return b.data && alu(op, Number{a.number}, Elements{b.data}, out, n, largest);
  return b.data ? alu(op, Elements{a.data}, Elements{b.data}, out, n, largest)
                : alu(op, Elements{a.data}, Number{b.number}, out, n, largest);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(alu_bfloat16);

namespace {

// A piece at a time, for the operator that has no vector of float32.
std::uint32_t power_of_bfloat16(const Bfloat16Row& a, const Bfloat16Row& b, std::uint16_t* out, std::size_t n) {
  constexpr std::size_t kPiece = 512;
  alignas(64) float bases[kPiece], exponents[kPiece];
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < n; i += kPiece) {
    const std::size_t count = std::min(kPiece, n - i);
    const auto floats = [&](const Bfloat16Row& row, float* to) {
      if (row.data) load(DType::bfloat16, row.data + i, 1, count, to);
      return FloatRows{row.data ? to : &row.number, 0, !row.data};
    };
    alu_rows(AluOp::power, floats(a, bases), floats(b, exponents), bases, 0, 1, count);
    store(DType::bfloat16, bases, count, out + i, 1);
    found = std::max(found, largest(sizeof *out, out + i, 1, count));
  }
  return found;
}

}  // namespace

std::uint32_t alu_bfloat16(AluOp op, const Bfloat16Row& a, const Bfloat16Row& b, std::uint16_t* out, std::size_t n) {
  if (op == AluOp::power) return power_of_bfloat16(a, b, out, n);
  std::uint32_t largest = 0;
  return HWY_DYNAMIC_DISPATCH(alu_bfloat16)(op, a, b, out, n, largest) ? largest
                                                                       : plain::alu_bfloat16(op, a, b, out, n);
}

}  // namespace kiln::fast
#endif
