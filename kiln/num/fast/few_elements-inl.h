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
#include <limits>
#include <span>
#include <vector>

#include "kiln/num/fast/factor-inl.h"
#include "kiln/num/few_places.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

// An element of a column of a: its row, which is one of b too.
using Weighted = FewPlaces::Element;

// The elements of a that are not zero, column by column, in ascending rows. First come bits, one for each element, then
// places of those that are set: none of both waits for what the other finds.
class FewElements {
 public:
  static constexpr std::size_t kMostRows = std::size_t{1} << 16;  // and columns

  // Whether there are at most `most` of them; else nothing is known.
  template <class Kind>
  bool collect(const Source& a, std::size_t k, std::size_t m, std::size_t most) {
    known_start_ = nullptr;
    words_ = (m + kColumns - 1) / kColumns;
    if (bits_.size() < k * words_) bits_.resize(k * words_);
    std::size_t count = 0;
    for (std::size_t row = 0; row < k; ++row) {
      prefetch(a, row + kAhead, k, m);
      count += look_at<Kind>(a, row, m);
      if (count > most) return false;
    }
    find_places(k, count);
    sort<Kind>(a, m, count);
    return true;
  }
  // The same where somebody knows the places, if a lies among them.
  bool take(const FewPlaces& known, const Source& a, std::size_t k, std::size_t m, std::size_t most) {
    if (a.is_packed_first() || known.columns != static_cast<std::size_t>(a.float_stride())) return false;
    const auto* data = reinterpret_cast<const float*>(a.data);
    // As numbers: pointers into other arrays have no order.
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(known.data),
                         at = reinterpret_cast<std::uintptr_t>(data);
    if (at < first || at >= first + known.rows * known.columns * sizeof(float)) return false;
    const std::size_t place = (at - first) / sizeof(float), column = place % known.columns;
    if (place >= known.columns || k > known.rows || m > known.columns - column) return false;
    if (known.start[column + m] - known.start[column] > most) return false;
    known_ = known.elements.data();
    known_start_ = known.start.data() + column;
    known_rows_ = k;
    return true;
  }
  std::span<const Weighted> column(std::size_t c) const {
    if (!known_start_) return {sorted_.data() + start_[c], sorted_.data() + start_[c + 1]};
    const Weighted *first = known_ + known_start_[c], *last = known_ + known_start_[c + 1];
    while (last > first && last[-1].row >= known_rows_) --last;
    return {first, last};
  }

 private:
  // Bits of a vector come as bytes, of four lanes or more.
  static constexpr std::size_t kAhead = 8, kLine = 64, kBytes = kLanes < 8 ? 1 : kLanes / 8;
  static constexpr std::size_t kInByte = kLanes / kBytes, kColumns = 8 * kInByte;  // of a word
  static constexpr std::uint32_t kColumn = kMostRows - 1;

  static void prefetch(const Source& a, std::size_t row, std::size_t k, std::size_t m) {
    if (row >= k) return;
    const std::byte* at = a.data + static_cast<std::ptrdiff_t>(row) * a.row_bytes;
    for (std::size_t j = 0; j < m * a.element_bytes(); j += kLine) __builtin_prefetch(at + j, 0, 3);
  }

  // Sets the bits of a row, and counts them; NaN is no zero.
  template <class Kind>
  HWY_INLINE std::size_t look_at(const Source& a, std::size_t row, std::size_t m) {
    const Tag d;
    const auto* from =
        reinterpret_cast<const typename Kind::Raw*>(a.data + static_cast<std::ptrdiff_t>(row) * a.row_bytes);
    bits_[row * words_ + words_ - 1] = 0;
    auto* to = reinterpret_cast<std::uint8_t*>(bits_.data() + row * words_);
    std::size_t count = 0, c = 0;
    const auto add = [&](Vec x) {
      const auto is_other = hn::Not(hn::Eq(x, hn::Zero(d)));
      hn::StoreMaskBits(d, is_other, to);
      count += hn::CountTrue(d, is_other);
      to += kBytes;
    };
    for (; c + kLanes <= m; c += kLanes) add(Kind::load(from + c));
    if (c < m) add(Kind::load_first(from + c, m - c));
    return count;
  }

  // One place is written for each word even if it has none, since nobody could guess that.
  void find_places(std::size_t k, std::size_t count) {
    if (places_.size() <= count) places_.resize(count + 1);
    std::uint32_t* to = places_.data();
    for (std::size_t row = 0; row < k; ++row) {
      for (std::size_t w = 0; w < words_; ++w) {
        const std::uint32_t first = static_cast<std::uint32_t>(row * kMostRows + w * kColumns);
        std::uint64_t bits = bits_[row * words_ + w];
        do {
          const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits));
          *to = first + bit / 8 * kInByte + bit % 8;
          to += bits != 0;
          bits &= bits - 1;
        } while (bits != 0);
      }
    }
  }

  template <class Kind>
  void sort(const Source& a, std::size_t m, std::size_t count) {
    start_.assign(m + 2, 0);
    for (std::size_t e = 0; e < count; ++e) ++start_[(places_[e] & kColumn) + 2];
    for (std::size_t column = 0; column < m; ++column) start_[column + 2] += start_[column + 1];
    if (sorted_.size() < count) sorted_.resize(count);
    for (std::size_t e = 0; e < count; ++e) {
      const std::uint32_t row = places_[e] / kMostRows, column = places_[e] & kColumn;
      const std::byte* at = a.data + static_cast<std::ptrdiff_t>(row) * a.row_bytes;
      sorted_[start_[column + 1]++] = {row, Kind::one(reinterpret_cast<const typename Kind::Raw*>(at) + column)};
    }
  }

  std::size_t words_ = 0;  // of a row
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> places_;  // row by row: row * kMostRows + column
  std::vector<std::uint32_t> start_;   // of columns in `sorted_`
  std::vector<Weighted> sorted_;

  const Weighted* known_ = nullptr;             // what somebody knows
  const std::uint32_t* known_start_ = nullptr;  // of columns among these; null: `sorted_` counts
  std::size_t known_rows_ = 0;                  // those below count
};

// Where the sums of one row of the product go, and what they are made of.
struct RowSum {
  const Source& b;
  float* to;
  bool accumulate;
  bool keeps_negative_zero;  // the list has all elements
};

template <class Kind>
HWY_INLINE const typename Kind::Raw* row_of(const RowSum& row, std::size_t k, std::size_t column) {
  const std::byte* at = row.b.data + static_cast<std::ptrdiff_t>(k) * row.b.row_bytes;
  return reinterpret_cast<const typename Kind::Raw*>(at) + column;
}

// -0 has the bits of the least integer.
template <std::size_t kVectors>
HWY_INLINE bool has_negative_zero(const Vec* sums) {
  const hn::RebindToSigned<Tag> di;
  auto least = hn::BitCast(di, sums[0]);
#pragma GCC unroll 8
  for (std::size_t v = 1; v < kVectors; ++v) least = hn::Min(least, hn::BitCast(di, sums[v]));
  return !hn::AllFalse(di, hn::Eq(least, hn::Set(di, std::numeric_limits<std::int32_t>::min())));
}

// Whole vectors of columns: the rows of b times their weights, in the order of the list. False: nothing was stored,
// since zeros may count.
template <class Kind, std::size_t kVectors>
bool sum_vectors(std::span<const Weighted> list, const RowSum& row, std::size_t column) {
  const Tag d;
  Vec sums[kVectors];
#pragma GCC unroll 8
  for (Vec& s : sums) s = hn::Zero(d);
  for (const Weighted& e : list) {
    const Vec w = hn::Set(d, e.value);
    const auto* from = row_of<Kind>(row, e.row, column);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::MulAdd(w, Kind::load(from + v * kLanes), sums[v]);
  }
  if (!row.keeps_negative_zero && has_negative_zero<kVectors>(sums)) return false;
  float* to = row.to + column;
#pragma GCC unroll 8
  for (std::size_t v = 0; v < kVectors; ++v, to += kLanes)
    hn::StoreU(row.accumulate ? hn::Add(hn::LoadU(d, to), sums[v]) : sums[v], d, to);
  return true;
}

// The same for less than a vector.
template <class Kind>
bool sum_rest(std::span<const Weighted> list, const RowSum& row, std::size_t column, std::size_t width) {
  const Tag d;
  Vec sum = hn::Zero(d);
  for (const Weighted& e : list)
    sum = hn::MulAdd(hn::Set(d, e.value), Kind::load_first(row_of<Kind>(row, e.row, column), width), sum);
  if (!row.keeps_negative_zero && has_negative_zero<1>(&sum)) return false;
  const auto exists = hn::FirstN(d, width);
  float* const to = row.to + column;
  hn::BlendedStore(row.accumulate ? hn::Add(hn::MaskedLoad(exists, d, to), sum) : sum, exists, d, to);
  return true;
}

// A list without elements: a sum stays as it is, but for -0, which becomes +0.
void sum_nothing(const RowSum& row, std::size_t n) {
  const Tag d;
  if (!row.accumulate) return std::fill(row.to, row.to + n, 0.0f);
  std::size_t c = 0;
  for (; c + kLanes <= n; c += kLanes) {
    const Vec before = hn::LoadU(d, row.to + c);
    if (has_negative_zero<1>(&before)) hn::StoreU(hn::Add(before, hn::Zero(d)), d, row.to + c);
  }
  for (; c < n; ++c) row.to[c] += 0.0f;
}

// Columns from `column` on, as many as go at once; gives the next column, or the same one when nothing was stored.
template <class Kind>
std::size_t sum_some(std::span<const Weighted> list, const RowSum& row, std::size_t column, std::size_t n) {
  const std::size_t vectors = (n - column) / kLanes;
  const auto after = [&](bool stored, std::size_t width) { return stored ? column + width : column; };
  if (vectors >= 8) return after(sum_vectors<Kind, 8>(list, row, column), 8 * kLanes);
  if (vectors >= 4) return after(sum_vectors<Kind, 4>(list, row, column), 4 * kLanes);
  if (vectors >= 2) return after(sum_vectors<Kind, 2>(list, row, column), 2 * kLanes);
  if (vectors >= 1) return after(sum_vectors<Kind, 1>(list, row, column), kLanes);
  return after(sum_rest<Kind>(list, row, column, n - column), n - column);
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

bool is_finite(const Source& b, std::size_t k, std::size_t n) {
  return with_kind(b, [&](auto kind) { return is_finite<decltype(kind)>(b, k, n); });
}

// Of so many elements at most one is not zero, for it to be quicker: where they have to be found, and where they are
// known.
constexpr std::size_t kFew = 16, kFewKnown = 3;

template <class Left, class Right>
void multiply_few_as(const FewElements& few, const Source& a, const Source& b, Output out, std::size_t k, std::size_t m,
                     std::size_t n) {
  for (std::size_t row = 0; row < m; ++row) {
    const std::span<const Weighted> list = few.column(row);
    const RowSum sums{b, out.from(row, 0).data, out.accumulate, false};
    if (list.empty()) {
      sum_nothing(sums, n);
      continue;
    }
    for (std::size_t column = 0; column < n;) {
      const std::size_t next = sum_some<Right>(list, sums, column, n);
      column = next > column
                   ? next
                   : sum_some<Right>(whole_column<Left>(a, row, k), {b, sums.to, sums.accumulate, true}, column, n);
    }
  }
}

FewElements& few_elements() {
  thread_local FewElements few;
  return few;
}

// Does the product if a has few elements besides zeros and b is finite.
bool multiply_few(const Source& a, const Source& b, Output out, std::size_t k, std::size_t m, std::size_t n) {
  constexpr std::size_t kWorthIt = 1024;  // elements of a
  if (k * m < kWorthIt || std::max(k, m) > FewElements::kMostRows) return false;
  FewElements& few = few_elements();
  const std::size_t most = k * m / kFew;
  if (!with_kind(a, [&](auto kind) { return few.collect<decltype(kind)>(a, k, m, most); })) return false;
  if (!is_finite(b, k, n)) return false;
  with_kind(a, [&](auto left) {
    with_kind(b, [&](auto right) { multiply_few_as<decltype(left), decltype(right)>(few, a, b, out, k, m, n); });
  });
  return true;
}

// The same if somebody knows where a has them.
bool multiply_known(const Source& a, const Source& b, Output out, std::size_t k, std::size_t m, std::size_t n) {
  const FewPlaces* const known = FewPlaces::current();
  if (!known || n == 1 || !few_elements().take(*known, a, k, m, k * m / kFewKnown)) return false;
  if (!known->times_finite && !is_finite(b, k, n)) return false;
  with_kind(b, [&](auto right) { multiply_few_as<Wide, decltype(right)>(few_elements(), a, b, out, k, m, n); });
  return true;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
