#include "kiln/num/fast/fast.h"
#include "kiln/num/plain/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/alu_pairs.cpp"  // NOLINT: the name is Highway's
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/arith-inl.h"
#include "kiln/num/fast/magnitude-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;
constexpr std::size_t kLanes = hn::MaxLanes(Tag());

auto first_numbers() {
  const hn::RebindToUnsigned<Tag> du;
  return hn::RebindMask(Tag(), hn::Eq(hn::And(hn::Iota(du, 0), hn::Set(du, 1)), hn::Zero(du)));
}

// Pairs as vectors in the order of the results. No number is read that is not one of them.
class Pairs {
 public:
  explicit Pairs(const FloatPairs& pairs)
      : first_(pairs.second < 0 ? -1 : 0),
        read_(pairs.second == 0 ? first_numbers() : hn::FirstN(Tag(), kLanes)),
        order_(order_of(pairs.second)) {}
  HWY_INLINE Vec get(const float* at) const { return ordered(hn::MaskedLoad(read_, Tag(), at + first_)); }
  HWY_INLINE Vec get_part(const float* at, std::size_t count) const {
    return ordered(hn::MaskedLoad(hn::And(read_, hn::FirstN(Tag(), count)), Tag(), at + first_));
  }

 private:
  using Order = decltype(hn::IndicesFromVec(Tag(), hn::Zero(hn::RebindToSigned<Tag>())));
  static Order order_of(int second) {
    const hn::RebindToSigned<Tag> di;
    const auto place = hn::Iota(di, 0), odd = hn::And(place, hn::Set(di, 1));
    if (second < 0) return hn::IndicesFromVec(Tag(), hn::Xor(place, hn::Set(di, 1)));
    return hn::IndicesFromVec(Tag(), second ? place : hn::Sub(place, odd));
  }
  HWY_INLINE Vec ordered(Vec v) const { return hn::TableLookupLanes(v, order_); }

  std::ptrdiff_t first_;
  hn::Mask<Tag> read_;
  Order order_;
};

// The first numbers alone, where they lie.
class FirstNumbers {
 public:
  explicit FirstNumbers(const FloatPairs&) : read_(first_numbers()) {}
  HWY_INLINE Vec get(const float* at) const { return hn::MaskedLoad(read_, Tag(), at); }
  HWY_INLINE Vec get_part(const float* at, std::size_t count) const {
    return hn::MaskedLoad(hn::And(read_, hn::FirstN(Tag(), count)), Tag(), at);
  }

 private:
  hn::Mask<Tag> read_;
};

struct Rows {
  const FloatPairs &a, &b;
  float* out;
  std::ptrdiff_t out_step;
  std::size_t rows, n;
};

// Gives the largest magnitude of the results.
template <class Operand, class Fn>
std::uint32_t each_pair(const Fn fn, const Rows& r) {
  const Tag d;
  constexpr bool kFirstOnly = std::is_same_v<Operand, FirstNumbers>;
  const auto written = kFirstOnly ? first_numbers() : hn::FirstN(d, kLanes);
  const Operand a(r.a), b(r.b);
  Magnitude<Tag> magnitude;
  const std::size_t n = 2 * r.n;
  for (std::size_t row = 0; row < r.rows; ++row) {
    const auto at = static_cast<std::ptrdiff_t>(row);
    const float *x = r.a.data + at * r.a.step, *y = r.b.data + at * r.b.step;
    float* out = r.out + at * r.out_step;
    const auto put = [&](Vec result, hn::Mask<Tag> exists, std::size_t i) HWY_ATTR {
      magnitude.add(hn::IfThenElseZero(exists, result));
      hn::BlendedStore(result, exists, d, out + i);
    };
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const Vec result = fn(d, a.get(x + i), b.get(y + i));
      if constexpr (kFirstOnly) {
        put(result, written, i);
      } else {
        magnitude.add(result);
        hn::StoreU(result, d, out + i);
      }
    }
    if (i == n) continue;
    const Vec last = fn(d, a.get_part(x + i, n - i), b.get_part(y + i, n - i));
    put(last, hn::And(written, hn::FirstN(d, n - i)), i);
  }
  return magnitude.largest();
}

// False for an operator that is left to the plain kernels.
bool alu_pairs(AluOp op, const Rows& rows, bool first_only, std::uint32_t& largest) {
  switch (op) {
#define KILN_ALU(name, cls, ...)                                                             \
  case AluOp::name:                                                                          \
    if constexpr (has_float(AluOp::name, AluClass::cls) && AluClass::cls == AluClass::arith) \
      largest = first_only ? each_pair<FirstNumbers>(Arith<AluOp::name>{}, rows)             \
                           : each_pair<Pairs>(Arith<AluOp::name>{}, rows);                   \
    return has_float(AluOp::name, AluClass::cls) && AluClass::cls == AluClass::arith;
#include "kiln/num/alu.def"
#undef KILN_ALU
  }
  return false;
}

std::uint32_t alu_pairs_or_plain(AluOp op, const FloatPairs& a, const FloatPairs& b, float* out,
                                 std::ptrdiff_t out_step, std::size_t rows, std::size_t n, bool first_only) {
  std::uint32_t largest = 0;
  return alu_pairs(op, {a, b, out, out_step, rows, n}, first_only, largest)
             ? largest
             : plain::alu_pairs(op, a, b, out, out_step, rows, n, first_only);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(alu_pairs_or_plain);

std::uint32_t alu_pairs(AluOp op, const FloatPairs& a, const FloatPairs& b, float* out, std::ptrdiff_t out_step,
                        std::size_t rows, std::size_t n, bool first_only) {
  return HWY_DYNAMIC_DISPATCH(alu_pairs_or_plain)(op, a, b, out, out_step, rows, n, first_only);
}

}  // namespace kiln::fast
#endif
