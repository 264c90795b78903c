// Operands with zeros above or below their other elements, as those are that hold several matrices side by side, block
// by block: sums leave out the rows in which they have only zeros; included once for each target.
//
// A sum begins as +0, and a zero times a finite number leaves it as it is, but for -0, which +0 turns to +0. A sum of
// others is -0 only where a number too small for float32 is rounded to it. What two numbers give that are not zero, and
// so what sums of such products are, is a multiple of their last bits' product. So both operands must be finite, and
// the last bits of their smallest numbers so large that their product is one of float32.
#if defined(KILN_NUM_FAST_ZERO_RANGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_ZERO_RANGES_INL_H_
#undef KILN_NUM_FAST_ZERO_RANGES_INL_H_
#else
#define KILN_NUM_FAST_ZERO_RANGES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kiln/num/fast/factor-inl.h"
#include "kiln/num/known_table.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

// Rows from the first to the last one that has other elements than zeros.
struct RowRange {
  std::size_t begin, end;

  std::size_t size() const { return end - begin; }
  RowRange and_of(RowRange other) const {
    const std::size_t first = std::max(begin, other.begin), last = std::min(end, other.end);
    return first < last ? RowRange{first, last} : RowRange{0, 0};
  }
  RowRange or_of(RowRange other) const {
    if (size() == 0) return other;
    return other.size() == 0 ? *this : RowRange{std::min(begin, other.begin), std::max(end, other.end)};
  }
};

// Columns whose elements stand in the same rows, or nearly.
struct ColumnRun {
  std::size_t first, count;
  RowRange rows;
};

// Ranges of up to a vector of columns.
template <class Kind>
void ranges_of_vector(const Source& from, std::size_t k, std::size_t width, std::int32_t* begins, std::int32_t* ends) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  auto begin = hn::Set(di, -1), end = hn::Zero(di);
  for (std::size_t i = 0; i < k; ++i) {
    const Vec row = width == kLanes ? Kind::load(from.row<Kind>(i)) : Kind::load_first(from.row<Kind>(i), width);
    const auto is_other = hn::RebindMask(di, hn::Not(hn::Eq(row, hn::Zero(d))));  // NaN is no zero
    const auto at = hn::Set(di, static_cast<std::int32_t>(i));
    begin = hn::IfThenElse(hn::And(is_other, hn::Lt(begin, hn::Zero(di))), at, begin);
    end = hn::IfThenElse(is_other, hn::Add(at, hn::Set(di, 1)), end);
  }
  hn::Store(begin, di, begins);
  hn::Store(end, di, ends);
}

// Columns as runs. One ends where its rows would become many more than those of one of its columns.
class Runs {
 public:
  Runs(std::vector<ColumnRun>& runs, std::size_t k) : runs_(runs), k_(k) { runs_.clear(); }
  void add(std::size_t column, RowRange rows) {
    const std::size_t smallest = rows.size() == 0 ? least_ : std::min(least_, rows.size());
    if (!runs_.empty() && runs_.back().first + runs_.back().count == column) {
      const RowRange both = runs_.back().rows.or_of(rows);
      if (both.size() <= smallest + smallest / 4 + 4) {
        ++runs_.back().count;
        runs_.back().rows = both;
        least_ = smallest;
        return;
      }
    }
    runs_.push_back({column, 1, rows});
    least_ = rows.size() == 0 ? k_ : rows.size();
  }

 private:
  std::vector<ColumnRun>& runs_;
  std::size_t k_, least_ = k_;  // rows of a column of the run that has some
};

// All columns.
template <class Kind>
void find_runs(const Source& from, std::size_t k, std::size_t m, std::vector<ColumnRun>& found) {
  alignas(64) std::int32_t begins[kLanes], ends[kLanes];
  Runs runs(found, k);
  for (std::size_t column = 0; column < m; ++column) {
    const std::size_t lane = column % kLanes;
    if (lane == 0) ranges_of_vector<Kind>(from.from_column(column), k, std::min(m - column, kLanes), begins, ends);
    runs.add(column, ends[lane] == 0
                         ? RowRange{0, 0}
                         : RowRange{static_cast<std::size_t>(begins[lane]), static_cast<std::size_t>(ends[lane])});
  }
}

// The place of an operand in a table that somebody knows.
struct KnownPart {
  const KnownTable* table = nullptr;
  std::size_t row = 0, column = 0;

  KnownPart() = default;
  KnownPart(const Source& s, std::size_t k, std::size_t m) {
    if (s.is_packed_first()) return;
    const KnownTable* const known = KnownTable::at(s.data);
    if (!known || s.float_stride() != static_cast<std::ptrdiff_t>(known->columns)) return;
    const auto place = static_cast<std::size_t>(reinterpret_cast<const float*>(s.data) - known->data);
    row = place / known->columns, column = place % known->columns;
    if (row + k <= known->rows && column + m <= known->columns) table = known;
  }
  explicit operator bool() const { return table != nullptr; }
  const KnownTable::Column& of(std::size_t c) const { return table->of_columns[column + c]; }
  // Of the k rows of the operand.
  RowRange rows_of(std::size_t c, std::size_t k) const {
    const KnownTable::Column& of_c = of(c);
    const std::size_t first = std::max<std::size_t>(of_c.begin, row), last = std::min<std::size_t>(of_c.end, row + k);
    return first < last ? RowRange{first - row, last - row} : RowRange{0, 0};
  }
};

// The column of an operand that has the numbers of another one: so many columns further; 0: there is none.
struct Twin {
  std::ptrdiff_t distance;
  bool negated;
};

// The range of some columns together.
template <class Kind>
RowRange range_of(const Source& from, std::size_t k, std::size_t width) {
  const Tag d;
  const auto is_zero = [&](std::size_t row) {
    const auto* at = from.row<Kind>(row);
    for (std::size_t c = 0; c < width; c += kLanes) {
      const Vec some = width - c < kLanes ? Kind::load_first(at + c, width - c) : Kind::load(at + c);
      if (!hn::AllTrue(d, hn::Eq(some, hn::Zero(d)))) return false;
    }
    return true;
  };
  std::size_t begin = 0, end = k;
  while (begin < k && is_zero(begin)) ++begin;
  if (begin == k) return {0, 0};
  while (is_zero(end - 1)) --end;
  return {begin, end};
}

// Bits of magnitudes: the largest one, and one less than the smallest that is not zero.
struct Magnitudes {
  std::uint32_t largest = 0, before_least = std::numeric_limits<std::uint32_t>::max();

  // Whether zeros that are left out do not change a bit, and numbers with the other sign change that of the sum alone.
  static bool allow_leaving_out(const Magnitudes& a, const Magnitudes& b) {
    constexpr std::uint32_t kInfinity = 0x7f800000u, kMantissaBits = 23;
    // The last bit of a number with exponent e counts 2^(e - 150), or more; the smallest of float32 2^-149.
    constexpr std::uint32_t kExponents = 150 + 150 - 149;
    return a.largest < kInfinity && b.largest < kInfinity &&
           (a.before_least >> kMantissaBits) + (b.before_least >> kMantissaBits) >= kExponents;
  }
};

// Those of vectors that go by.
class SeenMagnitudes {
 public:
  HWY_INLINE SeenMagnitudes() : largest_(hn::Zero(Unsigned())), before_least_(hn::Not(hn::Zero(Unsigned()))) {}
  HWY_INLINE void add(Vec x) {
    const auto bits = hn::BitCast(Unsigned(), hn::Abs(x));
    largest_ = hn::Max(largest_, bits);
    before_least_ = hn::Min(before_least_, hn::Sub(bits, hn::Set(Unsigned(), 1)));
  }
  Magnitudes all() const {
    return {hn::GetLane(hn::MaxOfLanes(Unsigned(), largest_)), hn::GetLane(hn::MinOfLanes(Unsigned(), before_least_))};
  }

 private:
  using Unsigned = hn::RebindToUnsigned<Tag>;
  hn::Vec<Unsigned> largest_, before_least_;
};

template <class Kind>
Magnitudes magnitudes_of(const Source& from, std::size_t k, std::size_t width) {
  SeenMagnitudes seen;
  const std::size_t whole = width / kLanes * kLanes;
  for (std::size_t i = 0; i < k; ++i) {
    const auto* row = from.row<Kind>(i);
    for (std::size_t c = 0; c < whole; c += kLanes) seen.add(Kind::load(row + c));
    if (whole < width) seen.add(Kind::load_first(row + whole, width - whole));
  }
  return seen.all();
}

// The columns of an operand: runs of all, runs of those that are no twins of others before them, and the twins.
struct PartRuns {
  std::vector<ColumnRun> all, without_twins;
  std::vector<Twin> twins;
  std::size_t left_out = 0;  // twins of others before them

  // Of a part of a known table, found once: products with it come again and again.
  static const PartRuns& of(const KnownPart& known, std::size_t k, std::size_t m) {
    struct Kept {
      std::uint64_t id = 0;
      std::size_t row = 0, column = 0, k = 0, m = 0;
      PartRuns runs;
    };
    static thread_local std::array<Kept, 8> kept;
    static thread_local std::size_t oldest = 0;
    for (const Kept& part : kept) {
      if (part.id == known.table->id && part.row == known.row && part.column == known.column && part.k == k &&
          part.m == m)
        return part.runs;
    }
    Kept& part = kept[oldest++ % kept.size()];
    part.id = known.table->id, part.row = known.row, part.column = known.column, part.k = k, part.m = m;
    part.runs.find(known, k, m);
    return part.runs;
  }

 private:
  void find(const KnownPart& known, std::size_t k, std::size_t m) {
    Runs all_runs(all, k), runs_without_twins(without_twins, k);
    twins.resize(m);
    left_out = 0;
    for (std::size_t c = 0; c < m; ++c) {
      const RowRange rows = known.rows_of(c, k);
      const std::ptrdiff_t other = static_cast<std::ptrdiff_t>(c) + known.of(c).twin;
      const bool is_here = other >= 0 && other < static_cast<std::ptrdiff_t>(m), is_second = known.of(c).twin < 0;
      twins[c] = {is_here && !is_second ? known.of(c).twin : 0, known.of(c).negated};
      all_runs.add(c, rows);
      if (is_here && is_second)
        ++left_out;
      else
        runs_without_twins.add(c, rows);
    }
  }
};

// What a product knows of its operands: their zeros, and columns of the first one that are others again.
class ZeroRanges {
 public:
  // `in_a`, `in_b`: whether an operand is looked at; else all its rows count. `known`: the place of a, which then need
  // not be looked at.
  ZeroRanges(const Source& a, std::size_t k, std::size_t m, bool in_a, bool in_b, const KnownPart& known = {})
      : a_(a), k_(k), m_(m), in_b_(in_b) {
    static thread_local PartRuns looked_at;
    runs_ = known ? &PartRuns::of(known, k, m) : &looked_at;
    if (known) {
      magnitudes_a_ = {known.table->largest, known.table->before_least};
      knows_a_ = true;
    } else if (in_a) {
      with_kind(a, [&](auto kind) { find_runs<decltype(kind)>(a, k, m, looked_at.all); });
    } else {
      looked_at.all.assign(1, {0, m, {0, k}});
    }
  }

  // The first operand is read sooner where it was packed to.
  void reads_a_at(const Source& packed) { a_ = packed; }

  // Whether columns of a alone are enough to leave something out.
  bool leaves_out() const { return leaves_out(RowRange{0, k_}); }

  // The rows that count in a panel of b, or in all panels those of every run when `runs_count`.
  struct PanelRows {
    RowRange rows;
    bool runs_count;
    RowRange of(const ColumnRun& run) const { return runs_count ? rows.and_of(run.rows) : rows; }
  };
  // `magnitudes`: those of the panel, where somebody has seen them.
  PanelRows of_panel(const Source& panel, std::size_t width, const std::optional<Magnitudes>& magnitudes) {
    const RowRange rows = !in_b_
                              ? RowRange{0, k_}
                              : with_kind(panel, [&](auto kind) { return range_of<decltype(kind)>(panel, k_, width); });
    return leaves_out(rows) && may_skip(panel, width, magnitudes) ? PanelRows{rows, true} : PanelRows{{0, k_}, false};
  }

  // The columns of a that are computed with a panel, and the twins of all, which come of them; null: there are none.
  const std::vector<ColumnRun>& runs_with(const PanelRows& panel) const {
    return twins_with(panel) ? runs_->without_twins : runs_->all;
  }
  const Twin* twins_with(const PanelRows& panel) const {
    return panel.runs_count && runs_->left_out > 0 ? runs_->twins.data() : nullptr;
  }

 private:
  bool leaves_out(const RowRange& rows) const {
    return runs_->left_out > 0 || std::any_of(runs_->all.begin(), runs_->all.end(),
                                              [&](const ColumnRun& run) { return rows.and_of(run.rows).size() < k_; });
  }
  bool may_skip(const Source& panel, std::size_t width, const std::optional<Magnitudes>& magnitudes) {
    const auto of = [&](const Source& s, std::size_t columns) {
      return with_kind(s, [&](auto kind) { return magnitudes_of<decltype(kind)>(s, k_, columns); });
    };
    if (!knows_a_) magnitudes_a_ = of(a_, m_);
    knows_a_ = true;
    return Magnitudes::allow_leaving_out(magnitudes_a_, magnitudes ? *magnitudes : of(panel, width));
  }

  Source a_;
  std::size_t k_, m_;
  bool in_b_, knows_a_ = false;
  const PartRuns* runs_;
  Magnitudes magnitudes_a_;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
