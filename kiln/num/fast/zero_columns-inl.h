// Operands that end in columns of zeros, as tiles do that are not full: the sums of one of them are those of all. They
// are +0, or NaN where the other operand is not finite; included once for each target.
#if defined(KILN_NUM_FAST_ZERO_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_ZERO_COLUMNS_INL_H_
#undef KILN_NUM_FAST_ZERO_COLUMNS_INL_H_
#else
#define KILN_NUM_FAST_ZERO_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kiln/num/fast/factor-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

// Whether the columns from `begin` on, at most a vector and one more, hold only zeros.
template <class Kind>
bool are_zero(const Source& from, std::size_t begin, std::size_t end, std::size_t k) {
  const Tag d;
  for (std::size_t i = 0; i < k; ++i) {
    const auto* row = from.row<Kind>(i);
    const Vec first = Kind::load_first(row + begin, std::min(end - begin, kLanes));
    if (!hn::AllTrue(d, hn::Eq(first, hn::Zero(d))) || Kind::one(row + end - 1) != 0) return false;
  }
  return true;
}

// One more than the last of up to a vector of columns that does not hold only zeros.
template <class Kind>
std::size_t count_before_zeros(const Source& from, std::size_t begin, std::size_t end, std::size_t k) {
  const hn::RebindToUnsigned<Tag> du;
  auto bits = hn::Zero(du);  // of each column, without the sign
  for (std::size_t i = 0; i < k; ++i)
    bits = hn::Or(bits, hn::BitCast(du, hn::Abs(Kind::load_first(from.row<Kind>(i) + begin, end - begin))));
  std::size_t count = end - begin;
  alignas(64) std::uint32_t of_columns[kLanes];
  hn::Store(bits, du, of_columns);
  while (count > 0 && of_columns[count - 1] == 0) --count;
  return count;
}

// How many columns there are up to those of zeros at the end, with one of these or, as `whole_vectors`, several. Of a
// matrix that is full, one row is looked at.
template <class Kind>
std::size_t columns_with_one_of_zeros(const Source& from, std::size_t k, std::size_t n, bool whole_vectors) {
  std::size_t end = n;
  while (end > kLanes) {
    const std::size_t begin = (end - 1) / kLanes * kLanes;
    if (!are_zero<Kind>(from, begin - 1, end, k)) break;
    end = begin;
  }
  if (whole_vectors || k == 0 || Kind::one(from.row<Kind>(0) + end - 1) != 0) return end;
  const std::size_t begin = (end - 1) / kLanes * kLanes;
  return std::min(end, begin + count_before_zeros<Kind>(from, begin, end, k) + 1);
}

std::size_t columns_with_one_of_zeros(const Source& from, std::size_t k, std::size_t n, bool whole_vectors) {
  return with_kind(from,
                   [&](auto kind) { return columns_with_one_of_zeros<decltype(kind)>(from, k, n, whole_vectors); });
}

// Whether a matrix seems to hold more other elements than zeros: some of its rows are looked at.
template <class Kind>
bool seems_full(const Source& from, std::size_t k, std::size_t n) {
  const Tag d;
  constexpr std::size_t kRows = 4;
  std::size_t others = 0;
  if (k == 0) return true;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto* row = from.row<Kind>(i * k / kRows);
    for (std::size_t c = 0; c < n; c += kLanes)
      others += hn::CountTrue(d, hn::Ne(Kind::load_first(row + c, std::min(n - c, kLanes)), hn::Zero(d)));
  }
  return others > kRows * n / 2;
}

bool seems_full(const Source& from, std::size_t k, std::size_t n) {
  return with_kind(from, [&](auto kind) { return seems_full<decltype(kind)>(from, k, n); });
}

// Whether n floats hold a NaN.
bool has_nan(const float* from, std::ptrdiff_t step, std::size_t n) {
  bool found = false;
  for (std::size_t i = 0; i < n; ++i, from += step) found |= *from != *from;
  return found;
}

// The bits of a float without its sign.
inline std::uint32_t magnitude_of(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu; }

// Sums of +0 for a part of the result, whose largest magnitude it returns.
std::uint32_t add_zeros(Output out, std::size_t rows, std::size_t columns) {
  std::uint32_t largest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    float* const to = out.from(row, 0).data;
    for (std::size_t c = 0; c < columns; ++c) {
      to[c] = out.accumulate ? to[c] + 0.0f : 0.0f;
      largest = std::max(largest, magnitude_of(to[c]));
    }
  }
  return largest;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
