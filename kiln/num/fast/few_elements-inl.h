// Products whose first operand is nearly all zeros, as the blocks of sparse matrices are: only its other elements are
// multiplied; included once for each target.
//
// A zero times a finite number leaves a sum as it is, but for one: -0 and +0 give +0. So b must be finite, and where a
// sum of the other elements is -0, which only a product too small for float32 makes of +0, all are added up.
#if defined(KILN_NUM_FAST_FEW_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_FEW_ELEMENTS_INL_H_
#undef KILN_NUM_FAST_FEW_ELEMENTS_INL_H_
#else
#define KILN_NUM_FAST_FEW_ELEMENTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kiln/num/fast/factor-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

// An element of a column of a: its row, which is one of b too.
struct Weighted {
  std::uint32_t row;
  float weight;
};

// The elements of a that are not zero, column by column, in ascending rows.
class FewElements {
 public:
  // Whether there are at most `most` of them; else nothing is known.
  template <class Kind>
  bool collect(const Source& a, std::size_t k, std::size_t m, std::size_t most) {
    found_.clear();
    start_.assign(m + 2, 0);
    for (std::size_t row = 0; row < k; ++row) {
      prefetch(a, row + kAhead, k, m);
      if (!collect_row<Kind>(a, row, m, most)) return false;
    }
    for (std::size_t column = 0; column < m; ++column) start_[column + 2] += start_[column + 1];
    sorted_.resize(found_.size());
    for (const Found& f : found_) sorted_[start_[f.column + 1]++] = f.element;
    return true;
  }
  std::span<const Weighted> column(std::size_t c) const {
    return {sorted_.data() + start_[c], sorted_.data() + start_[c + 1]};
  }

 private:
  struct Found {
    std::size_t column;
    Weighted element;
  };
  static constexpr std::size_t kAhead = 8, kLine = 64;

  static void prefetch(const Source& a, std::size_t row, std::size_t k, std::size_t m) {
    if (row >= k) return;
    const std::byte* at = a.data + static_cast<std::ptrdiff_t>(row) * a.row_bytes;
    for (std::size_t j = 0; j < m * a.element_bytes(); j += kLine) __builtin_prefetch(at + j, 0, 3);
  }

  template <class Kind>
  bool collect_row(const Source& a, std::size_t row, std::size_t m, std::size_t most) {
    const Tag d;
    const auto* from =
        reinterpret_cast<const typename Kind::Raw*>(a.data + static_cast<std::ptrdiff_t>(row) * a.row_bytes);
    for (std::size_t c = 0; c < m; c += kLanes) {
      const Vec v = m - c >= kLanes ? Kind::load(from + c) : Kind::load_first(from + c, m - c);
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(d, hn::Ne(v, hn::Zero(d)), bytes);
      std::uint64_t bits;
      std::memcpy(&bits, bytes, sizeof bits);
      for (; bits != 0; bits &= bits - 1) {
        if (found_.size() == most) return false;
        const std::size_t column = c + static_cast<std::size_t>(std::countr_zero(bits));
        found_.push_back({column, {static_cast<std::uint32_t>(row), Kind::one(from + column)}});
        ++start_[column + 2];
      }
    }
    return true;
  }

  std::vector<Found> found_;        // row by row
  std::vector<std::size_t> start_;  // of columns in `sorted_`
  std::vector<Weighted> sorted_;
};

// Columns of b whose sums lie in registers.
constexpr std::size_t kSummed = 8 * kLanes;

// sums[0 … width) = the rows of b times their weights, in the order of the list; width <= kSummed. Lanes of `sums` that
// lie beyond are zeros.
template <class Kind>
void sum_rows(std::span<const Weighted> list, const Source& b, std::size_t width, float* sums) {
  const Tag d;
  constexpr std::size_t kVectors = kSummed / kLanes;
  const std::size_t vectors = width / kLanes, rest_width = width % kLanes;
  Vec sum[kVectors], rest = hn::Zero(d);
#pragma GCC unroll 8
  for (Vec& s : sum) s = hn::Zero(d);
  for (const Weighted& e : list) {
    const Vec w = hn::Set(d, e.weight);
    const auto* row =
        reinterpret_cast<const typename Kind::Raw*>(b.data + static_cast<std::ptrdiff_t>(e.row) * b.row_bytes);
    if (vectors == kVectors) {
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v) sum[v] = hn::MulAdd(w, Kind::load(row + v * kLanes), sum[v]);
      continue;
    }
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) {
      if (v < vectors) sum[v] = hn::MulAdd(w, Kind::load(row + v * kLanes), sum[v]);
    }
    if (rest_width) rest = hn::MulAdd(w, Kind::load_first(row + vectors * kLanes, rest_width), rest);
  }
  for (std::size_t v = 0; v < kVectors; ++v)
    hn::Store(v < vectors ? sum[v] : v == vectors ? rest : hn::Zero(d), d, sums + v * kLanes);
}

HWY_INLINE bool has_negative_zero(const float* sums, std::size_t width) {
  const hn::RebindToUnsigned<Tag> du;
  const auto negative_zero = hn::Set(du, 0x80000000u);
  auto any = hn::Zero(du);
  for (std::size_t i = 0; i < width; i += kLanes) {
    const auto bits = hn::BitCast(du, hn::Load(Tag(), sums + i));
    any = hn::Or(any, hn::VecFromMask(du, hn::Eq(bits, negative_zero)));
  }
  return !hn::AllTrue(du, hn::Eq(any, hn::Zero(du)));
}

// Column c of a with its zeros.
template <class Kind>
std::vector<Weighted> whole_column(const Source& a, std::size_t c, std::size_t k) {
  std::vector<Weighted> list(k);
  for (std::size_t row = 0; row < k; ++row) {
    const std::byte* at = a.from_column(c).data + static_cast<std::ptrdiff_t>(row) * a.row_bytes;
    list[row] = {static_cast<std::uint32_t>(row), Kind::one(reinterpret_cast<const typename Kind::Raw*>(at))};
  }
  return list;
}

HWY_INLINE void store_sums(const float* sums, float* to, bool accumulate, std::size_t width) {
  const Tag d;
  for (std::size_t i = 0; i < width; i += kLanes) {
    const Vec sum = hn::Load(d, sums + i);
    if (width - i >= kLanes) {
      hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, to + i), sum) : sum, d, to + i);
    } else {
      const auto exists = hn::FirstN(d, width - i);
      hn::BlendedStore(accumulate ? hn::Add(hn::MaskedLoad(exists, d, to + i), sum) : sum, exists, d, to + i);
    }
  }
}

template <class Kind>
bool is_finite(const Source& b, std::size_t k, std::size_t n) {
  const hn::RebindToUnsigned<Tag> du;
  const auto magnitude = hn::Set(du, 0x7fffffffu);
  auto largest = hn::Zero(du);
  for (std::size_t row = 0; row < k; ++row) {
    const auto* from =
        reinterpret_cast<const typename Kind::Raw*>(b.data + static_cast<std::ptrdiff_t>(row) * b.row_bytes);
    std::size_t c = 0;
    for (; c + kLanes <= n; c += kLanes)
      largest = hn::Max(largest, hn::And(hn::BitCast(du, Kind::load(from + c)), magnitude));
    if (c < n) largest = hn::Max(largest, hn::And(hn::BitCast(du, Kind::load_first(from + c, n - c)), magnitude));
  }
  return hn::GetLane(hn::MaxOfLanes(du, largest)) < 0x7f800000u;
}

template <class Left, class Right>
bool multiply_few_as(const Source& a, const Source& b, Output out, std::size_t k, std::size_t m, std::size_t n) {
  constexpr std::size_t kFew = 16;  // of which at most one is not zero
  thread_local FewElements few;
  if (!few.collect<Left>(a, k, m, k * m / kFew) || !is_finite<Right>(b, k, n)) return false;
  alignas(64) float sums[kSummed];
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; column += kSummed) {
      const std::size_t width = std::min(n - column, kSummed);
      const Source from = b.from_column(column);
      sum_rows<Right>(few.column(row), from, width, sums);
      if (has_negative_zero(sums, width)) sum_rows<Right>(whole_column<Left>(a, row, k), from, width, sums);
      store_sums(sums, out.from(row, column).data, out.accumulate, width);
    }
  }
  return true;
}

// Does the product if a has few elements besides zeros and b is finite.
bool multiply_few(const Source& a, const Source& b, Output out, std::size_t k, std::size_t m, std::size_t n) {
  constexpr std::size_t kWorthIt = 1024;  // elements of a
  if (k * m < kWorthIt) return false;
  const auto multiply_as =
      a.narrow ? (b.narrow ? multiply_few_as<Narrow, Narrow> : multiply_few_as<Narrow, Wide>)
               : (b.narrow ? multiply_few_as<Wide, Narrow> : multiply_few_as<Wide, Wide>);
  return multiply_as(a, b, out, k, m, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
