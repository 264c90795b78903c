#include <algorithm>
#include <cstring>

#include "kiln/base/error.h"
#include "kiln/num/fast/fast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/convert.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/codecs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void copy_row(const void* src, std::size_t n, void* dst) {
  if (n != 0) std::memcpy(dst, src, n * sizeof(float));
}

// A contiguous row of Raw elements through fn, a vector at a time; the tail passes through a full vector of
// zeros.
template <class Raw, class Fn>
void load_each(const Fn fn, const void* src, std::size_t n, float* dst) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<Raw, decltype(d)> d_raw;
  const std::size_t lanes = hn::Lanes(d);
  const Raw* from = static_cast<const Raw*>(src);
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + lanes <= n; i += lanes) hn::StoreU(fn(d, hn::LoadU(d_raw, from + i)), d, dst + i);
  if (i == n) return;
  Raw raw[hn::MaxLanes(d)] = {};
  float part[hn::MaxLanes(d)];
  std::memcpy(raw, static_cast<const std::byte*>(src) + i * sizeof(Raw), (n - i) * sizeof(Raw));
  hn::StoreU(fn(d, hn::LoadU(d_raw, raw)), d, part);
  std::memcpy(dst + i, part, (n - i) * sizeof(float));
}

// Every fourth byte, as the elements of packed dtypes lie. The last few are left to the caller, as whole words are
// read: the number of those that were loaded is returned.
template <class Fn>
std::size_t load_quarters(const Fn fn, const std::byte* src, std::size_t n, float* dst) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d_raw;
  const hn::Rebind<std::uint32_t, decltype(d)> d_word;
  const hn::Repartition<std::uint8_t, decltype(d)> d_bytes;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes < n; i += lanes) {
    const auto words = hn::LoadU(d_bytes, reinterpret_cast<const std::uint8_t*>(src) + 4 * i);
    hn::StoreU(fn(d, hn::TruncateTo(d_raw, hn::BitCast(d_word, words))), d, dst + i);
  }
  return i;
}

std::size_t load_every_fourth(DType t, const void* src, std::size_t n, float* dst) {
  if (t != DType::float8_e4m3fn && t != DType::float8_e5m2) return 0;
  return load_quarters(FromFloat8(info(t)), static_cast<const std::byte*>(src), n, dst);
}

// Every second word, as the parts of complex numbers lie. The words between them are not touched: someone else may be
// writing them.
void load_every_second(const void* src, std::size_t n, void* dst) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* from = static_cast<const std::uint32_t*>(src);
  auto* to = static_cast<std::uint32_t*>(dst);
  const auto is_even = hn::Eq(hn::And(hn::Iota(d, 0), hn::Set(d, 1)), hn::Zero(d));
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto first = hn::MaskedLoad(is_even, d, from + 2 * i),
               second = hn::MaskedLoad(is_even, d, from + 2 * i + lanes);
    hn::StoreU(hn::ConcatEven(d, second, first), d, to + i);
  }
  for (; i < n; ++i) std::memcpy(to + i, from + 2 * i, sizeof(std::uint32_t));
}

void store_every_second(const void* src, std::size_t n, void* dst) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d_pair;
  const hn::Rebind<std::uint32_t, decltype(d_pair)> d_half;
  const std::size_t lanes = hn::Lanes(d_half);
  const auto* from = static_cast<const std::uint32_t*>(src);
  auto* to = static_cast<std::uint32_t*>(dst);
  const auto is_even = hn::Eq(hn::And(hn::Iota(d, 0), hn::Set(d, 1)), hn::Zero(d));
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::BlendedStore(hn::BitCast(d, hn::PromoteTo(d_pair, hn::LoadU(d_half, from + i))), is_even, d, to + 2 * i);
  for (; i < n; ++i) std::memcpy(to + 2 * i, from + i, sizeof(std::uint32_t));
}

template <class Raw, class Fn>
void store_each(const Fn fn, const float* src, std::size_t n, void* dst) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<Raw, decltype(d)> d_raw;
  const std::size_t lanes = hn::Lanes(d);
  Raw* to = static_cast<Raw*>(dst);
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + lanes <= n; i += lanes) hn::StoreU(fn(d_raw, hn::LoadU(d, src + i)), d_raw, to + i);
  if (i == n) return;
  float part[hn::MaxLanes(d)] = {};
  Raw raw[hn::MaxLanes(d)];
  std::memcpy(part, src + i, (n - i) * sizeof(float));
  hn::StoreU(fn(d_raw, hn::LoadU(d, part)), d_raw, raw);
  std::memcpy(static_cast<std::byte*>(dst) + i * sizeof(Raw), raw, (n - i) * sizeof(Raw));
}

// Two vectors at a time: their upper halves, once rounded, are the elements.
void store_bfloat16(const float* src, std::size_t n, void* dst) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Repartition<std::uint16_t, decltype(d)> d_raw;
  const std::size_t lanes = hn::Lanes(d);
  auto* to = static_cast<std::uint16_t*>(dst);
  const auto rounded = [&](const float* from) HWY_ATTR {
    return hn::BitCast(d_raw, round_bits<16>(du, hn::BitCast(du, hn::LoadU(d, from))));
  };
  std::size_t i = 0;
#pragma GCC unroll 2
  for (; i + 2 * lanes <= n; i += 2 * lanes)
    hn::StoreU(hn::ConcatOdd(d_raw, rounded(src + i + lanes), rounded(src + i)), d_raw, to + i);
  store_each<std::uint16_t>(ToBfloat16{}, src + i, n - i, to + i);
}

void load_row(DType t, const void* src, std::size_t n, float* dst) {
  switch (t) {
    case DType::float32:
    case DType::tfloat32:
      return copy_row(src, n, dst);
    case DType::bfloat16:
      return load_each<std::uint16_t>(FromBfloat16{}, src, n, dst);
    case DType::float16:
      return load_each<std::uint16_t>(FromFloat16{}, src, n, dst);
    case DType::int8:
      return load_each<std::int8_t>(FromInt{}, src, n, dst);
    case DType::int16:
      return load_each<std::int16_t>(FromInt{}, src, n, dst);
    case DType::int32:
      return load_each<std::int32_t>(FromInt{}, src, n, dst);
    case DType::uint8:
      return load_each<std::uint8_t>(FromInt{}, src, n, dst);
    case DType::uint16:
      return load_each<std::uint16_t>(FromInt{}, src, n, dst);
    case DType::uint32:
      return load_each<std::uint32_t>(FromUint32{}, src, n, dst);
    case DType::bool_:
      return load_each<std::uint8_t>(FromBool{}, src, n, dst);
    case DType::float8_e4m3:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::float8_e3m4:
      return load_each<std::uint8_t>(FromFloat8(info(t)), src, n, dst);
    case DType::float8_e8m0fnu:
      return load_each<std::uint8_t>(FromScale{}, src, n, dst);
    default:
      KILN_ASSERT(!is_packed(t));
  }
}

void store_row(DType t, const float* src, std::size_t n, void* dst) {
  switch (t) {
    case DType::float32:
      return copy_row(src, n, dst);
    case DType::tfloat32:
      return store_each<std::uint32_t>(ToTfloat32{}, src, n, dst);
    case DType::bfloat16:
      return store_bfloat16(src, n, dst);
    case DType::float16:
      return store_each<std::uint16_t>(ToFloat16{}, src, n, dst);
    case DType::int8:
      return store_each<std::int8_t>(ToInt{}, src, n, dst);
    case DType::int16:
      return store_each<std::int16_t>(ToInt{}, src, n, dst);
    case DType::int32:
      return store_each<std::int32_t>(ToInt{}, src, n, dst);
    case DType::uint8:
      return store_each<std::uint8_t>(ToInt{}, src, n, dst);
    case DType::uint16:
      return store_each<std::uint16_t>(ToInt{}, src, n, dst);
    case DType::uint32:
      return store_each<std::uint32_t>(ToUint32{}, src, n, dst);
    case DType::bool_:
      return store_each<std::uint8_t>(ToBool{}, src, n, dst);
    case DType::float8_e4m3:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::float8_e3m4:
      return store_each<std::uint8_t>(ToFloat8(info(t)), src, n, dst);
    case DType::float8_e8m0fnu:
      return store_each<std::uint8_t>(ToScale{}, src, n, dst);
    default:
      KILN_ASSERT(!is_packed(t));
  }
}

// Integers of 8 and 16 bits, which float32 holds: each becomes the nearest that the other dtype has.
template <class From, class To>
void convert_integers(const void* src, std::size_t n, void* dst) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<From, decltype(d)> d_from;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<To, decltype(d)> d_to;
  const hn::RebindToUnsigned<decltype(d_to)> d_bits;
  const std::size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, hwy::LimitsMin<To>()), highest = hn::Set(d, hwy::LimitsMax<To>());
  const auto* from = static_cast<const From*>(src);
  auto* to = static_cast<To*>(dst);
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + lanes <= n; i += lanes) {
    const auto held = hn::Min(hn::Max(hn::PromoteTo(d, hn::LoadU(d_from, from + i)), lowest), highest);
    hn::StoreU(hn::BitCast(d_to, hn::TruncateTo(d_bits, hn::BitCast(du, held))), d_to, to + i);
  }
  for (; i < n; ++i) {  // from and to lie anywhere
    From number;
    std::memcpy(&number, from + i, sizeof number);
    const auto held = static_cast<To>(std::clamp<int>(number, hwy::LimitsMin<To>(), hwy::LimitsMax<To>()));
    std::memcpy(to + i, &held, sizeof held);
  }
}

template <class From>
bool convert_integers(const void* src, DType to, std::size_t n, void* dst) {
  if (to == DType::int8) return convert_integers<From, std::int8_t>(src, n, dst), true;
  if (to == DType::uint8) return convert_integers<From, std::uint8_t>(src, n, dst), true;
  if (to == DType::int16) return convert_integers<From, std::int16_t>(src, n, dst), true;
  if (to == DType::uint16) return convert_integers<From, std::uint16_t>(src, n, dst), true;
  return false;
}

bool convert_integers(DType from, const void* src, DType to, std::size_t n, void* dst) {
  if (from == DType::int8) return convert_integers<std::int8_t>(src, to, n, dst);
  if (from == DType::uint8) return convert_integers<std::uint8_t>(src, to, n, dst);
  if (from == DType::int16) return convert_integers<std::int16_t>(src, to, n, dst);
  if (from == DType::uint16) return convert_integers<std::uint16_t>(src, to, n, dst);
  return false;
}

// A piece at a time.
void convert_through_float(DType from, const void* src, DType to, std::size_t n, void* dst) {
  constexpr std::size_t kPiece = 512;
  alignas(64) float values[kPiece];
  for (std::size_t i = 0; i < n; i += kPiece) {
    const std::size_t count = std::min(kPiece, n - i);
    load_row(from, static_cast<const std::byte*>(src) + i * static_cast<std::size_t>(size_bytes(from)), count, values);
    store_row(to, values, count, static_cast<std::byte*>(dst) + i * static_cast<std::size_t>(size_bytes(to)));
  }
}

// What becomes of each byte: sixteen parts of sixteen, chosen by its upper four bits.
class ByteTable {
  using D = hn::ScalableTag<std::uint8_t>;
  using V = hn::Vec<D>;

 public:
  ByteTable(DType from, DType to) {
    std::uint8_t codes[256];
    for (int i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
    convert_through_float(from, codes, to, 256, all_);
  }

  void convert(const std::uint8_t* src, std::size_t n, std::uint8_t* dst) const {
    const D d;
    V parts[16];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) parts[i] = hn::LoadDup128(d, all_ + 16 * i);
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      const V x = hn::LoadU(d, src + i);
      const Choice by = {hn::And(x, hn::Set(d, 15)), {is_set<16>(x), is_set<32>(x), is_set<64>(x), is_set<128>(x)}};
      hn::StoreU(choose<4>(parts, by), d, dst + i);
    }
    for (; i < n; ++i) dst[i] = all_[src[i]];
  }

 private:
  struct Choice {
    V low;
    hn::Mask<D> upper[4];
  };
  template <std::uint8_t kBit>
  static HWY_INLINE hn::Mask<D> is_set(V x) {
    return hn::TestBit(x, hn::Set(D(), kBit));
  }
  // Among 2^kBits parts.
  template <std::size_t kBits>
  static HWY_INLINE V choose(const V* parts, const Choice& by) {
    if constexpr (kBits == 0) {
      return hn::TableLookupBytes(parts[0], by.low);
    } else {
      constexpr std::size_t kHalf = std::size_t{1} << (kBits - 1);
      return hn::IfThenElse(by.upper[kBits - 1], choose<kBits - 1>(parts + kHalf, by), choose<kBits - 1>(parts, by));
    }
  }

  alignas(64) std::uint8_t all_[256];
};

void convert(DType from, const void* src, DType to, std::size_t n, void* dst) {
  constexpr std::size_t kWorthATable = 1024;
  if (convert_integers(from, src, to, n, dst)) return;
  if (from == DType::float32) return store_row(to, static_cast<const float*>(src), n, dst);
  if (to == DType::float32) return load_row(from, src, n, static_cast<float*>(dst));
  if (size_bytes(from) == 1 && size_bytes(to) == 1 && n >= kWorthATable)
    return ByteTable(from, to).convert(static_cast<const std::uint8_t*>(src), n, static_cast<std::uint8_t*>(dst));
  convert_through_float(from, src, to, n, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(convert);
HWY_EXPORT(load_every_fourth);
HWY_EXPORT(load_every_second);
HWY_EXPORT(load_row);
HWY_EXPORT(store_every_second);
HWY_EXPORT(store_row);

namespace {

// Moves n elements between rows of any stride and alignment; an unsigned From widens or narrows to To.
template <class From, class To>
void move_each(const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride, std::size_t n) {
  const auto* from = static_cast<const std::byte*>(src);
  auto* to = static_cast<std::byte*>(dst);
  const auto count = static_cast<std::ptrdiff_t>(n);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * src_stride * static_cast<std::ptrdiff_t>(sizeof(From)), sizeof(From));
    const To result = static_cast<To>(value);
    std::memcpy(to + i * dst_stride * static_cast<std::ptrdiff_t>(sizeof(To)), &result, sizeof(To));
  }
}

// The constant strides let the compiler vectorise the common cases.
template <class Word>
void move_words(const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride, std::size_t n) {
  if (dst_stride == 1 && src_stride == 0) {
    Word value;
    if (n == 0) return;
    std::memcpy(&value, src, sizeof value);
    std::fill_n(static_cast<Word*>(dst), n, value);
    return;
  }
  if (dst_stride == 1 && src_stride == 1) return move_each<Word, Word>(src, 1, dst, 1, n);
  if (dst_stride == 1 && src_stride == 2) return move_each<Word, Word>(src, 2, dst, 1, n);
  if (dst_stride == 2 && src_stride == 1) return move_each<Word, Word>(src, 1, dst, 2, n);
  move_each<Word, Word>(src, src_stride, dst, dst_stride, n);
}

void move_raw(int size, const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride,
              std::size_t n) {
  if (size == 1) return move_words<std::uint8_t>(src, src_stride, dst, dst_stride, n);
  if (size == 2) return move_words<std::uint16_t>(src, src_stride, dst, dst_stride, n);
  if (src_stride == 2 && dst_stride == 1) return HWY_DYNAMIC_DISPATCH(load_every_second)(src, n, dst);
  if (src_stride == 1 && dst_stride == 2) return HWY_DYNAMIC_DISPATCH(store_every_second)(src, n, dst);
  move_words<std::uint32_t>(src, src_stride, dst, dst_stride, n);
}

template <class From, class To>
void resize_each(const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride, std::size_t n) {
  if (src_stride == 1 && dst_stride == 1) return move_each<From, To>(src, 1, dst, 1, n);
  if (src_stride == 0 && dst_stride == 1) return move_each<From, To>(src, 0, dst, 1, n);
  if (src_stride == 1 && dst_stride == 2) return move_each<From, To>(src, 1, dst, 2, n);
  if (src_stride == 2 && dst_stride == 1) return move_each<From, To>(src, 2, dst, 1, n);
  move_each<From, To>(src, src_stride, dst, dst_stride, n);
}

// Elements that pass through a buffer at a time when a row is strided.
constexpr std::size_t kBlock = 512;

}  // namespace

void load(DType t, const void* src, std::ptrdiff_t stride, std::size_t n, float* dst) {
  if (stride == 1) return HWY_DYNAMIC_DISPATCH(load_row)(t, src, n, dst);
  if (t == DType::float32) return move_raw(4, src, stride, dst, 1, n);
  const auto* from = static_cast<const std::byte*>(src);
  alignas(64) std::byte block[kBlock * 4];
  for (std::size_t i = stride == 4 ? HWY_DYNAMIC_DISPATCH(load_every_fourth)(t, src, n, dst) : 0; i < n; i += kBlock) {
    const std::size_t count = std::min(kBlock, n - i);
    move_raw(size_bytes(t), from + static_cast<std::ptrdiff_t>(i) * stride * size_bytes(t), stride, block, 1, count);
    HWY_DYNAMIC_DISPATCH(load_row)(t, block, count, dst + i);
  }
}

void store(DType t, const float* src, std::size_t n, void* dst, std::ptrdiff_t stride) {
  if (stride == 1) return HWY_DYNAMIC_DISPATCH(store_row)(t, src, n, dst);
  if (t == DType::float32) return move_raw(4, src, 1, dst, stride, n);
  alignas(64) std::byte block[kBlock * 4];
  auto* to = static_cast<std::byte*>(dst);
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t count = std::min(kBlock, n - i);
    HWY_DYNAMIC_DISPATCH(store_row)(t, src + i, count, block);
    move_raw(size_bytes(t), block, 1, to + static_cast<std::ptrdiff_t>(i) * stride * size_bytes(t), stride, count);
  }
}

void convert(DType from, const void* src, DType to, std::size_t n, void* dst) {
  HWY_DYNAMIC_DISPATCH(convert)(from, src, to, n, dst);
}

void load_bits(int size_bytes, const void* src, std::ptrdiff_t stride, std::size_t n, std::uint32_t* dst) {
  if (size_bytes == 1) return resize_each<std::uint8_t, std::uint32_t>(src, stride, dst, 1, n);
  if (size_bytes == 2) return resize_each<std::uint16_t, std::uint32_t>(src, stride, dst, 1, n);
  move_raw(4, src, stride, dst, 1, n);
}

void store_bits(int size_bytes, const std::uint32_t* src, std::size_t n, void* dst, std::ptrdiff_t stride) {
  if (size_bytes == 1) return resize_each<std::uint32_t, std::uint8_t>(src, 1, dst, stride, n);
  if (size_bytes == 2) return resize_each<std::uint32_t, std::uint16_t>(src, 1, dst, stride, n);
  move_raw(4, src, 1, dst, stride, n);
}

}  // namespace kiln::fast
#endif
