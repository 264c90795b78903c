// Both operands come K-major, so a block of outputs held in registers reads, for each k, a short run of a
// (broadcast) and a short run of b (vectors). Rows of a tile lie a power of two apart and fight for the same sets of
// the first cache, but a block multiplies so long with the runs of one k that the next ones have time to come from the
// second. So floats are read where they lie; bfloat16, and every second float, are first packed as float32, all of a, b
// a panel of columns at a time. What comes next of either, and then what the next call reads, is fetched from memory
// while a block is multiplied.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/matmul.cpp"  // NOLINT: the name is Highway's
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/num/fast/factor-inl.h"
#include "kiln/num/fast/fast.h"
#include "kiln/num/fast/few_elements-inl.h"
#include "kiln/num/fast/magnitude-inl.h"
#include "kiln/num/fast/square-inl.h"
#include "kiln/num/fast/zero_columns-inl.h"
#include "kiln/num/fast/zero_ranges-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

// Accumulators, a run of b and one broadcast fill the register file: 6 * 2 + 2 + 1 of 16 on AVX2, else 14 * 2
// + 2 + 1 of 32.
constexpr std::size_t kMaxVectors = 2;
constexpr std::size_t kMaxRows = HWY_TARGET == HWY_AVX2 ? 6 : 14;
constexpr std::size_t kPanelWidth = kMaxVectors * kLanes;

// Rows of float32.
struct Panel {
  const float* data;
  std::ptrdiff_t stride;
};

// Stores one row of a block, of which the first `width` columns exist.
template <std::size_t kVectors>
HWY_INLINE void store_row(const Vec* sums, const Output& out, std::size_t width, Magnitude<Tag>& magnitude) {
  const Tag d;
#pragma GCC unroll 2
  for (std::size_t v = 0; v < kVectors; ++v) {
    float* const to = out.data + v * kLanes;
    if (width >= (v + 1) * kLanes) {
      const Vec sum = out.accumulate ? hn::Add(hn::LoadU(d, to), sums[v]) : sums[v];
      hn::StoreU(sum, d, to);
      magnitude.add(sum);
    } else {
      const auto exists = hn::FirstN(d, width - v * kLanes);
      const Vec sum = out.accumulate ? hn::Add(hn::MaskedLoad(exists, d, to), sums[v]) : sums[v];
      hn::BlendedStore(sum, exists, d, to);
      magnitude.add(hn::IfThenElseZero(exists, sum));
    }
  }
}

// Stores the row of a column of a that is another one again.
template <std::size_t kVectors>
HWY_INLINE void store_twin(const Vec* sums, const Twin& twin, const Output& out, std::size_t width,
                           Magnitude<Tag>& magnitude) {
  Vec values[kVectors];
#pragma GCC unroll 2
  for (std::size_t v = 0; v < kVectors; ++v)  // +0 stays +0
    values[v] = twin.negated ? hn::Sub(hn::Zero(Tag()), sums[v]) : sums[v];
  store_row<kVectors>(values, {out.data + twin.distance * out.stride, out.stride, out.accumulate}, width, magnitude);
}

// What is needed soon: a cache line of each row of two matrices.
struct Ahead {
  const std::byte *first, *second;
  std::ptrdiff_t first_step, second_step;
};

// Adds the products of one k, of which `a` has kRows floats and b whole vectors. The loops must unroll fully for the
// sums to stay in registers.
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void add_products(const float* a, const float* b, Vec (&sums)[kRows][kVectors]) {
  const Tag d;
  Vec columns[kVectors];
#pragma GCC unroll 2
  for (std::size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 14
  for (std::size_t r = 0; r < kRows; ++r) {
    const Vec weight = hn::Set(d, a[r]);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weight, columns[v], sums[r][v]);
  }
}

// One block of kRows rows and kVectors vectors, and the rows that are their twins. Returns the largest magnitude of the
// results.
template <std::size_t kRows, std::size_t kVectors>
std::uint32_t multiply_block(Panel a, Panel b, const Output& out, std::size_t k, std::size_t width, const Ahead& asked,
                             const Twin* twins) {
  Ahead ahead = asked;
  Vec sums[kRows][kVectors];
#pragma GCC unroll 14
  for (auto& row : sums) {
#pragma GCC unroll 2
    for (Vec& sum : row) sum = hn::Zero(Tag());
  }
  const auto fetch_ahead = [&] {
    __builtin_prefetch(std::exchange(ahead.first, ahead.first + ahead.first_step), 0, 2);
    __builtin_prefetch(std::exchange(ahead.second, ahead.second + ahead.second_step), 0, 2);
  };
  std::size_t i = 0;
  if constexpr (kRows >= kMaxRows / 2) {  // else this takes longer than what it spares
    const float* row = out.data;
    for (; i < std::min(k, kRows); ++i, a.data += a.stride, b.data += b.stride, row += out.stride) {
      fetch_ahead();
      for (std::size_t v = 0; v < kVectors; ++v) __builtin_prefetch(row + v * kLanes, 1, 3);
      add_products(a.data, b.data, sums);
    }
  }
  for (; i < k; ++i, a.data += a.stride, b.data += b.stride) {
    fetch_ahead();
    add_products(a.data, b.data, sums);
  }
  Magnitude<Tag> magnitude;
#pragma GCC unroll 14
  for (std::size_t r = 0; r < kRows; ++r) {
    store_row<kVectors>(sums[r], out.from(r, 0), width, magnitude);
    if (twins && twins[r].distance) store_twin<kVectors>(sums[r], twins[r], out.from(r, 0), width, magnitude);
  }
  return magnitude.largest();
}

// What does not fit into registers comes by reference. As a copy, it would be written word by word and then read as a
// vector, which waits until all that was written before, the sums of the last block, has left for the cache.
using Block = std::uint32_t (*)(Panel a, Panel b, const Output& out, std::size_t k, std::size_t width,
                                const Ahead& ahead, const Twin* twins);

template <std::size_t... kIndex>
constexpr std::array<Block, sizeof...(kIndex)> make_blocks(std::index_sequence<kIndex...>) {
  return {&multiply_block<kIndex / kMaxVectors + 1, kIndex % kMaxVectors + 1>...};
}

Block block_of(std::size_t rows, std::size_t vectors) {
  static constexpr auto kBlocks = make_blocks(std::make_index_sequence<kMaxRows * kMaxVectors>());
  return kBlocks[(rows - 1) * kMaxVectors + vectors - 1];
}

constexpr std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Rows of the next block when `left` rows are left: as few blocks as possible, all of nearly the same size.
constexpr std::size_t block_rows(std::size_t left) { return divide_up(left, divide_up(left, kMaxRows)); }

// Asks for the first `bytes` of a row that is packed soon. Rows lie so far apart that the processor does not guess the
// next one, and that several of them do not stay in the cache until their other columns are packed: so what is packed
// of a row is packed at once.
HWY_INLINE void prefetch_ahead(const Source& from, std::size_t row, std::size_t k, std::size_t bytes) {
  constexpr std::size_t kAhead = 12;
  if (row + kAhead >= k) return;
  const std::byte* at = from.data + static_cast<std::ptrdiff_t>(row + kAhead) * from.row_bytes;
  for (std::size_t j = 0; j < bytes; j += kLine) __builtin_prefetch(at + j, 0, 3);
}

// Rows of n floats lie so many apart when they are packed: an odd number of vectors, so that the lines of a column
// spread over all sets of the first cache.
constexpr std::size_t packed_stride(std::size_t n) { return (divide_up(n, kLanes) | 1) * kLanes; }

// All of a as float32.
template <class Kind>
void pack_all_as(const Source& from, std::size_t k, std::size_t m, float* to) {
  const Tag d;
  const std::size_t whole = m / kLanes * kLanes;
  for (std::size_t i = 0; i < k; ++i, to += packed_stride(m)) {
    prefetch_ahead(from, i, k, m * from.element_bytes());
    const auto* row = from.row<Kind>(i);
    for (std::size_t c = 0; c < whole; c += kLanes) hn::StoreU(Kind::load(row + c), d, to + c);
    if (whole < m) hn::StoreU(Kind::load_first(row + whole, m - whole), d, to + whole);
  }
}

void pack_all(const Source& from, std::size_t k, std::size_t m, float* to) {
  with_kind(from, [&](auto kind) { pack_all_as<decltype(kind)>(from, k, m, to); });
}

// Up to a panel of columns of b; the last vector is filled up with zeros. `see` is called with each vector.
template <class Kind, class See>
void pack_panel_as(const Source& from, std::size_t width, std::size_t k, float* to, See&& see) {
  const Tag d;
  const std::size_t whole = width / kLanes * kLanes;
  const auto put = [&](Vec x) HWY_ATTR {
    see(x);
    hn::StoreU(x, d, std::exchange(to, to + kLanes));
  };
  for (std::size_t i = 0; i < k; ++i) {
    prefetch_ahead(from, i, k, width * from.element_bytes());
    const auto* row = from.row<Kind>(i);
    for (std::size_t c = 0; c < whole; c += kLanes) put(Kind::load(row + c));
    if (whole < width) put(Kind::load_first(row + whole, width - whole));
  }
}

// The magnitudes of a panel where somebody will ask for them: reading it takes so long that the look costs nothing.
std::optional<Magnitudes> pack_panel(const Source& from, std::size_t width, std::size_t k, float* to, bool looks) {
  return with_kind(from, [&](auto kind) -> std::optional<Magnitudes> {
    using Kind = decltype(kind);
    if (!looks) {
      pack_panel_as<Kind>(from, width, k, to, [](Vec) {});
      return {};
    }
    SeenMagnitudes seen;
    pack_panel_as<Kind>(from, width, k, to, [&](Vec x) HWY_ATTR { seen.add(x); });
    return seen.all();
  });
}

// Asks for all rows of some columns.
void fetch(const Source& from, std::size_t width, std::size_t k) {
  const std::size_t bytes = width * from.element_bytes();
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < bytes; j += kLine) __builtin_prefetch(from.row_at(i) + j, 0, 2);
    __builtin_prefetch(from.row_at(i) + bytes - 1, 0, 2);
  }
}

struct alignas(64) CacheLine {
  float values[16];
};

// Room for n > 0 floats, which each thread keeps for its next call.
float* scratch(std::size_t n) {
  static thread_local std::vector<CacheLine> lines;
  const std::size_t needed = divide_up(n * sizeof(float), sizeof(CacheLine));
  if (lines.size() < needed) lines.resize(needed);
  return lines.front().values;
}

Source source_of(Panel panel) { return Source({DType::float32, panel.data, panel.stride}); }
Panel in_place(const Source& from) { return {reinterpret_cast<const float*>(from.data), from.float_stride()}; }

// The columns of a, packed or where they lie.
struct Columns {
  Source source;
  const float* packed;  // nullptr: where they lie
  std::size_t k, m;

  Panel from(std::size_t column) const {
    return packed ? Panel{packed + column, static_cast<std::ptrdiff_t>(packed_stride(m))}
                  : in_place(source.from_column(column));
  }
};

// The cache lines of b from some column on, one after the other, as the blocks before fetch them; then those of what
// the next call reads.
class LinesOfRows {
 public:
  struct Line {
    const std::byte* at;
    std::ptrdiff_t step;
  };
  LinesOfRows(const Source& b, std::size_t n, const Soon& soon)
      : at_(b.data),
        end_(b.from_column(n).data),
        row_bytes_(b.row_bytes),
        soon_at_(static_cast<const std::byte*>(soon.data)),
        soon_end_(soon_at_ + soon.bytes),
        soon_bytes_(soon.row_bytes),
        unused_{b.data, 0} {}
  // What is needed now is not fetched any more.
  void skip_to(const std::byte* at) {
    if (at_ < at) at_ += (at - at_ + kLine - 1) / kLine * kLine;
    limit_ = std::min(end_, at + kMostAhead);
  }
  Line take() {
    if (at_ < limit_) return {std::exchange(at_, at_ + kLine), row_bytes_};
    return at_ >= end_ && soon_at_ < soon_end_ ? Line{std::exchange(soon_at_, soon_at_ + kLine), soon_bytes_} : unused_;
  }

 private:
  static constexpr std::ptrdiff_t kMostAhead = 1024;  // bytes of a row
  const std::byte *at_, *end_, *limit_ = nullptr;
  std::ptrdiff_t row_bytes_;
  const std::byte *soon_at_, *soon_end_;
  std::ptrdiff_t soon_bytes_;
  Line unused_;
};

// All blocks of rows with one panel. A block fetches a line of b; and a second one or, with the first panel, the line
// in which the columns of the next block end: those before are the block's own.
std::uint32_t multiply_panel(const Columns& a, Panel panel, bool is_first, const Output& out, std::size_t width,
                             LinesOfRows& next, const ColumnRun& run, RowRange rows_of_k, const Twin* twins) {
  std::uint32_t largest = 0;
  const std::size_t vectors = divide_up(width, kLanes), end = run.first + run.count;
  const Source& from = a.source;
  panel.data += static_cast<std::ptrdiff_t>(rows_of_k.begin) * panel.stride;
  for (std::size_t row = run.first, rows; row < end; row += rows) {
    rows = block_rows(end - row);
    const LinesOfRows::Line one = next.take();
    const LinesOfRows::Line two =
        is_first && !a.packed
            ? LinesOfRows::Line{from.from_column(std::min(row + rows + kMaxRows, a.m) - 1).data, from.row_bytes}
            : next.take();
    Panel block = a.from(row);
    block.data += static_cast<std::ptrdiff_t>(rows_of_k.begin) * block.stride;
    largest =
        std::max(largest, block_of(rows, vectors)(block, panel, out.from(row, 0), rows_of_k.size(), width,
                                                  {one.at, two.at, one.step, two.step}, twins ? twins + row : nullptr));
  }
  return largest;
}

// `ranges`: the rows of k that are not left out.
std::uint32_t multiply(const Source& a, const Source& b, const Output& out, std::size_t k, std::size_t m, std::size_t n,
                       ZeroRanges ranges, const Soon& soon) {
  std::uint32_t largest = 0;
  float* const packed_b = scratch(k * (kPanelWidth + packed_stride(m)) + kLanes);
  float* const packed_a = packed_b + k * kPanelWidth;
  if (a.is_packed_first()) {
    pack_all(a, k, m, packed_a);
    ranges.reads_a_at(source_of({packed_a, static_cast<std::ptrdiff_t>(packed_stride(m))}));
  }
  const Columns columns_a{a, a.is_packed_first() ? packed_a : nullptr, k, m};
  LinesOfRows next(b, n, soon);
  for (std::size_t column = 0; column < n; column += kPanelWidth) {
    const std::size_t width = std::min(n - column, kPanelWidth), step = divide_up(width, kLanes) * kLanes;
    const Source from = b.from_column(column);
    next.skip_to(from.from_column(width).data);
    const bool packs = b.is_packed_first() || width < step;
    std::optional<Magnitudes> seen;
    if (packs)
      seen = pack_panel(from, width, k, packed_b, ranges.leaves_out());
    else if (column == 0)
      fetch(from, width, k);
    const Panel panel = packs ? Panel{packed_b, static_cast<std::ptrdiff_t>(step)} : in_place(from);
    const auto rows = ranges.of_panel(packs ? source_of(panel) : from, width, seen);
    for (const ColumnRun& run : ranges.runs_with(rows))
      largest = std::max(largest, multiply_panel(columns_a, panel, column == 0, out.from(0, column), width, next, run,
                                                 rows.of(run), ranges.twins_with(rows)));
  }
  return largest;
}

constexpr std::size_t kVectorsOfRow = HWY_TARGET == HWY_AVX2 ? 8 : 24;  // as many sums as there are registers for

// Sums of so many vectors of rows with weights; with none, of the first `few` elements of one. Sums stay in registers.
template <class Weight, class Element, std::size_t kVectors>
void add_rows(const Source& weights, const Source& rows, std::size_t k, std::size_t few, float* sums) {
  const Tag d;
  constexpr std::size_t kSums = std::max<std::size_t>(1, kVectors);
  Vec sum[kSums];
#pragma GCC unroll 24
  for (std::size_t v = 0; v < kSums; ++v) sum[v] = hn::Zero(d);
  const std::byte *weight = weights.data, *at = rows.data;
  for (std::size_t i = 0; i < k; ++i, weight += weights.row_bytes, at += rows.row_bytes) {
    const Vec w = hn::Set(d, Weight::one(reinterpret_cast<const typename Weight::Raw*>(weight)));
    const auto* row = reinterpret_cast<const typename Element::Raw*>(at);
    if constexpr (kVectors == 0) sum[0] = hn::MulAdd(w, Element::load_first(row, few), sum[0]);
#pragma GCC unroll 24
    for (std::size_t v = 0; v < kVectors; ++v) sum[v] = hn::MulAdd(w, Element::load(row + v * kLanes), sum[v]);
  }
#pragma GCC unroll 24
  for (std::size_t v = 0; v < kSums; ++v) hn::Store(sum[v], d, sums + v * kLanes);
}

// As many columns of these as are summed together; says how many.
template <class Weight, class Element>
std::size_t add_columns(const Source& weights, const Source& rows, std::size_t k, std::size_t width, float* sums) {
  const auto some = [&]<std::size_t kVectors>(std::integral_constant<std::size_t, kVectors>) {
    add_rows<Weight, Element, kVectors>(weights, rows, k, width, sums);
    return std::max(kVectors * kLanes, std::min(width, kLanes));
  };
  const std::size_t vectors = width / kLanes;
  if (vectors >= kVectorsOfRow) return some(std::integral_constant<std::size_t, kVectorsOfRow>());
  if (vectors >= 8) return some(std::integral_constant<std::size_t, 8>());
  if (vectors >= 4) return some(std::integral_constant<std::size_t, 4>());
  if (vectors >= 2) return some(std::integral_constant<std::size_t, 2>());
  if (vectors >= 1) return some(std::integral_constant<std::size_t, 1>());
  return some(std::integral_constant<std::size_t, 0>());
}

// A product with one row or one column: sums of rows with weights, read where they lie. `step`: from one sum to the
// next.
template <class Weight, class Element>
std::uint32_t multiply_vector_as(const Source& weights, const Source& rows, Output out, std::ptrdiff_t step,
                                 std::size_t k, std::size_t width) {
  std::uint32_t largest = 0;
  alignas(64) float sums[kVectorsOfRow * kLanes];
  float* to = out.data;
  for (std::size_t column = 0, n; column < width; column += n) {
    n = add_columns<Weight, Element>(weights, rows.from_column(column), k, width - column, sums);
    for (std::size_t i = 0; i < n; ++i, to += step) {
      *to = out.accumulate ? *to + sums[i] : sums[i];
      largest = std::max(largest, magnitude_of(*to));
    }
  }
  return largest;
}

std::uint32_t multiply_vector(const Source& weights, const Source& rows, Output out, std::ptrdiff_t step, std::size_t k,
                              std::size_t width) {
  return with_kind(weights, [&](auto weight) {
    return with_kind(rows, [&](auto element) {
      return multiply_vector_as<decltype(weight), decltype(element)>(weights, rows, out, step, k, width);
    });
  });
}

// The columns of b beyond whole panels are mostly better multiplied as rows, with all of a as vectors: a panel of one
// vector keeps the processor waiting for its broadcasts, and one that is not full multiplies what is not there.
std::size_t columns_as_rows(const Source& a, const Source& b, std::size_t m, std::size_t n) {
  const std::size_t rest = n % kPanelWidth;
  if (a.is_packed_first() || b.is_packed_first()) return 0;
  const std::size_t as_rows = rest * divide_up(m, kPanelWidth) * kMaxVectors;  // products of vectors
  const std::size_t as_panel = rest > kLanes ? 2 * m : m + m / 2;
  return 9 * as_rows <= 8 * as_panel ? rest : 0;  // the results are transposed
}

// Which operands are looked at for ranges of zeros, and what is known of them.
struct Looks {
  bool at_a, at_b;
  KnownPart known_a, known_b;
};
constexpr std::size_t kWorthALook = 32;  // products of an element of the operand that is looked at

// Puts up to kSide rows of a transposed result where they belong; those of `turned` lie `stride` apart.
HWY_INLINE void put_turned(const float* turned, std::size_t stride, const Output& out, std::size_t rows,
                           std::size_t columns, Magnitude<Square>& magnitude) {
  const Square d;
  for (std::size_t column = 0; column < columns; column += kSide) {
    hn::Vec<Square> v[kSide];
#pragma GCC unroll 8
    for (std::size_t c = 0; c < kSide; ++c) v[c] = hn::LoadU(d, turned + (column + c) * stride);
    transpose_square(v);
    const std::size_t width = std::min(kSide, columns - column);
    const auto exists = hn::FirstN(d, width);
    for (std::size_t r = 0; r < rows; ++r) {
      float* const to = out.from(r, column).data;
      const auto sum = out.accumulate ? hn::Add(hn::MaskedLoad(exists, d, to), v[r]) : v[r];
      hn::BlendedStore(sum, exists, d, to);
      magnitude.add(sum, width);
    }
  }
}

// Columns of b that are few, or known: the transposed product, transposed.
std::uint32_t multiply_columns(const Source& a, const Source& b, const Output& out, std::size_t k, std::size_t m,
                               std::size_t n, const Looks& looks, const Soon& soon) {
  thread_local std::vector<float> turned;
  const std::size_t stride = packed_stride(m);
  turned.resize(divide_up(n, kSide) * kSide * stride);  // whole squares
  multiply(b, a, {turned.data(), static_cast<std::ptrdiff_t>(stride), false}, k, n, m,
           {b, k, n, looks.at_b, looks.at_a && n >= kWorthALook, looks.known_b}, soon);
  Magnitude<Square> magnitude;
  for (std::size_t row = 0; row < m; row += kSide)
    put_turned(turned.data() + row, stride, out.from(row, 0), std::min(kSide, m - row), n, magnitude);
  return magnitude.largest();
}

// Whether so many columns of b are others again that the transposed product, which computes them once, is quicker.
bool is_worth_turning(const KnownPart& b, std::size_t k, std::size_t m, std::size_t n) {
  return b && m >= kPanelWidth && 3 * PartRuns::of(b, k, n).left_out >= n;
}

std::uint32_t multiply_full(const Source& a, const Source& b, Output out, std::size_t k, std::size_t m, std::size_t n,
                            const Looks& looks, const Soon& soon) {
  if (is_worth_turning(looks.known_b, k, m, n)) return multiply_columns(a, b, out, k, m, n, looks, soon);
  const std::size_t rest = columns_as_rows(a, b, m, n), whole = n - rest;
  const std::uint32_t largest =
      whole ? multiply(a, b, out, k, m, whole, {a, k, m, looks.at_a, looks.at_b, looks.known_a}, soon) : 0;
  if (!rest) return largest;
  const Soon not_yet_fetched = whole ? Soon{} : soon;
  return std::max(largest, multiply_columns(a, b.from_column(whole), out.from(0, whole), k, m, rest,
                                            {looks.at_a, looks.at_b, looks.known_a, {}}, not_yet_fetched));
}

std::uint32_t multiply_as_fits(const Source& a, const Source& b, Output out, std::size_t k, std::size_t m,
                               std::size_t n, const Soon& soon = {}) {
  if (m == 1) return multiply_vector(a, b, out, 1, k, n);
  if (n == 1) return multiply_vector(b, a, out, out.stride, k, m);
  const KnownPart known_a(a, k, m), known_b(b, k, n);
  const bool is_full = known_a || seems_full(a, k, m);
  if (!is_full && multiply_few(a, b, out, k, m, n)) return ~0u;
  const Looks looks{n >= kWorthALook && !is_full, m >= kWorthALook && !seems_full(b, k, n), known_a, known_b};
  return multiply_full(a, b, out, k, m, n, looks, soon);
}

std::uint32_t matmul(const Factor& left, const Factor& right, float* to, std::ptrdiff_t to_stride, std::size_t k,
                     std::size_t m, std::size_t n, bool accumulate, const Soon& soon) {
  const Source a(left), b(right);
  const Output out{to, to_stride, accumulate};
  if (multiply_known(a, b, out, k, m, n)) return ~0u;
  const std::size_t rows = columns_with_one_of_zeros(a, k, m, false),
                    columns = columns_with_one_of_zeros(b, k, n, a.is_packed_first() || b.is_packed_first());
  // A line of each row is fetched with the rows of the operands.
  std::uint32_t largest = multiply_as_fits(a, b, out, k, rows, columns, soon.rows < k ? Soon{} : soon);
  const auto add = [&](std::uint32_t of_part) { largest = std::max(largest, of_part); };
  // A NaN may also have been in the result before.
  if (columns < n) {
    const Output rest = out.from(0, columns);
    add(has_nan(rest.data - 1, rest.stride, rows)
            ? multiply_as_fits(a, b.from_column(columns), rest, k, rows, n - columns)
            : add_zeros(rest, rows, n - columns));
  }
  if (rows < m) {
    const Output rest = out.from(rows, 0);
    add(has_nan(rest.data - rest.stride, 1, n) ? multiply_as_fits(a.from_column(rows), b, rest, k, m - rows, n)
                                               : add_zeros(rest, m - rows, n));
  }
  return largest;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(matmul);

std::uint32_t matmul(const Factor& a, const Factor& b, float* out, std::ptrdiff_t out_stride, std::size_t k,
                     std::size_t m, std::size_t n, bool accumulate, const Soon& soon) {
  return HWY_DYNAMIC_DISPATCH(matmul)(a, b, out, out_stride, k, m, n, accumulate, soon);
}

}  // namespace kiln::fast
#endif
