// Both operands come K-major, so a block of outputs held in registers reads, for each k, a short run of a
// (broadcast) and a short run of b (vectors). Rows of a tile lie a power of two apart and would fight for the
// same cache sets, so the runs are first packed into contiguous panels of float32: all of a once, unless it can be read
// where it lies, b a few panels at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/matmul.cpp"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

#include "kiln/num/fast/codecs-inl.h"
#include "kiln/num/fast/fast.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

constexpr std::size_t kLanes = hn::MaxLanes(Tag());
// Accumulators, a run of b and one broadcast fill the register file: 6 * 2 + 2 + 1 of 16 on AVX2, else 14 * 2
// + 2 + 1 of 32.
constexpr std::size_t kMaxVectors = 2;
constexpr std::size_t kMaxRows = HWY_TARGET == HWY_AVX2 ? 6 : 14;
constexpr std::size_t kPanelWidth = kMaxVectors * kLanes;

// An operand of float32 or bfloat16, as it lies in memory.
struct Source {
  const std::byte* data;
  std::ptrdiff_t row_bytes;
  bool narrow;  // bfloat16

  explicit Source(const Factor& f)
      : data(static_cast<const std::byte*>(f.data)),
        row_bytes(f.stride * size_bytes(f.dtype)),
        narrow(f.dtype == DType::bfloat16) {}
  std::size_t element_bytes() const { return narrow ? sizeof(std::uint16_t) : sizeof(float); }
  Source from_column(std::size_t column) const {
    Source s = *this;
    s.data += column * element_bytes();
    return s;
  }
};

// How elements of each kind become float32.
struct Wide {
  using Raw = float;
  static HWY_INLINE Vec load(const float* from) { return hn::LoadU(Tag(), from); }
  static HWY_INLINE Vec load_first(const float* from, std::size_t n) {
    return hn::MaskedLoad(hn::FirstN(Tag(), n), Tag(), from);
  }
  static HWY_INLINE float one(const float* from) { return *from; }
};
struct Narrow {
  using Raw = std::uint16_t;
  using RawTag = hn::Rebind<std::uint16_t, Tag>;
  static HWY_INLINE Vec load(const std::uint16_t* from) { return FromBfloat16()(Tag(), hn::LoadU(RawTag(), from)); }
  static HWY_INLINE Vec load_first(const std::uint16_t* from, std::size_t n) {
    return FromBfloat16()(Tag(), hn::MaskedLoad(hn::FirstN(RawTag(), n), RawTag(), from));
  }
  static HWY_INLINE float one(const std::uint16_t* from) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(*from) << 16);
  }
};

// Rows of float32.
struct Panel {
  const float* data;
  std::ptrdiff_t stride;
};

struct Output {
  float* data;
  std::ptrdiff_t stride;
  bool accumulate;

  Output from(std::size_t row, std::size_t column) const {
    return {data + static_cast<std::ptrdiff_t>(row) * stride + column, stride, accumulate};
  }
};

// Stores one row of a block, of which the first `width` columns exist.
template <std::size_t kVectors>
HWY_INLINE void store_row(const Vec* sums, Output out, std::size_t width) {
  const Tag d;
#pragma GCC unroll 2
  for (std::size_t v = 0; v < kVectors; ++v) {
    float* const to = out.data + v * kLanes;
    if (width >= (v + 1) * kLanes) {
      hn::StoreU(out.accumulate ? hn::Add(hn::LoadU(d, to), sums[v]) : sums[v], d, to);
    } else {
      const auto exists = hn::FirstN(d, width - v * kLanes);
      const Vec sum = out.accumulate ? hn::Add(hn::MaskedLoad(exists, d, to), sums[v]) : sums[v];
      hn::BlendedStore(sum, exists, d, to);
    }
  }
}

// One block of kRows rows and kVectors vectors. `a` has kRows floats for each k; b has whole vectors. The loops over
// rows and vectors must unroll fully for the sums to stay in registers.
template <std::size_t kRows, std::size_t kVectors>
void multiply_block(Panel a, Panel b, Output out, std::size_t k, std::size_t width) {
  const Tag d;
  Vec sums[kRows][kVectors];
#pragma GCC unroll 14
  for (auto& row : sums) {
#pragma GCC unroll 2
    for (Vec& sum : row) sum = hn::Zero(d);
  }
  for (std::size_t i = 0; i < k; ++i, a.data += a.stride, b.data += b.stride) {
    Vec columns[kVectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b.data + v * kLanes);
#pragma GCC unroll 14
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec weight = hn::Set(d, a.data[r]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weight, columns[v], sums[r][v]);
    }
  }
#pragma GCC unroll 14
  for (std::size_t r = 0; r < kRows; ++r) store_row<kVectors>(sums[r], out.from(r, 0), width);
}

using Block = void (*)(Panel a, Panel b, Output out, std::size_t k, std::size_t width);

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
  constexpr std::size_t kAhead = 12, kLine = 64;
  if (row + kAhead >= k) return;
  const std::byte* at = from.data + static_cast<std::ptrdiff_t>(row + kAhead) * from.row_bytes;
  for (std::size_t j = 0; j < bytes; j += kLine) __builtin_prefetch(at + j, 0, 3);
}

// Some blocks of rows of the product: columns of a.
struct Blocks {
  static constexpr std::size_t kMost = 24;
  std::size_t count = 0, end;
  std::size_t begin[kMost], rows[kMost];

  Blocks(std::size_t first, std::size_t m) : end(first) {
    for (; count < kMost && end < m; ++count) {
      begin[count] = end;
      rows[count] = block_rows(m - end);
      end += rows[count];
    }
  }
};

// Each block goes to a panel of its own, at its first row times k: its columns of each k follow each other. Whole
// vectors are written where the next row, or what follows the last panel, is still to come.
template <class Kind>
void pack_blocks_as(const Source& from, const Blocks& blocks, std::size_t k, float* to) {
  const Tag d;
  const std::size_t bytes = (blocks.end - blocks.begin[0]) * from.element_bytes();
  for (std::size_t i = 0; i < k; ++i) {
    prefetch_ahead(from, i, k, bytes);
    const auto* row =
        reinterpret_cast<const typename Kind::Raw*>(from.data + static_cast<std::ptrdiff_t>(i) * from.row_bytes);
    for (std::size_t b = 0; b < blocks.count; ++b) {
      const std::size_t rows = blocks.rows[b], at = i * rows;
      float* const place = to + (blocks.begin[b] - blocks.begin[0]) * k + at;
      const Vec v = Kind::load_first(row + (blocks.begin[b] - blocks.begin[0]), rows);
      at + kLanes <= k* rows ? hn::StoreU(v, d, place) : hn::BlendedStore(v, hn::FirstN(d, rows), d, place);
    }
  }
}

// All of a.
void pack_all(const Source& a, std::size_t k, std::size_t m, float* to) {
  for (std::size_t first = 0; first < m;) {
    const Blocks blocks(first, m);
    const Source from = a.from_column(first);
    a.narrow ? pack_blocks_as<Narrow>(from, blocks, k, to + first * k)
             : pack_blocks_as<Wide>(from, blocks, k, to + first * k);
    first = blocks.end;
  }
}

// The first `width` columns of b as panels, of which the last one may have fewer vectors.
template <class Kind>
void pack_panels_as(const Source& from, std::size_t width, std::size_t k, float* to) {
  const Tag d;
  const std::size_t whole = width / kPanelWidth * kPanelWidth, rest = width - whole;
  const std::size_t rest_step = divide_up(rest, kLanes) * kLanes;
  for (std::size_t i = 0; i < k; ++i) {
    prefetch_ahead(from, i, k, width * from.element_bytes());
    const auto* row =
        reinterpret_cast<const typename Kind::Raw*>(from.data + static_cast<std::ptrdiff_t>(i) * from.row_bytes);
    for (std::size_t c = 0; c < whole; c += kPanelWidth) {
      float* const place = to + c * k + i * kPanelWidth;
      hn::StoreU(Kind::load(row + c), d, place);
      hn::StoreU(Kind::load(row + c + kLanes), d, place + kLanes);
    }
    for (std::size_t c = 0; c < rest; c += kLanes)
      hn::StoreU(Kind::load_first(row + whole + c, rest - c), d, to + whole * k + i * rest_step + c);
  }
}

void pack_panels(const Source& from, std::size_t width, std::size_t k, float* to) {
  from.narrow ? pack_panels_as<Narrow>(from, width, k, to) : pack_panels_as<Wide>(from, width, k, to);
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

// The columns of a, packed or where they lie.
struct Columns {
  Panel all;
  bool packed;
  std::size_t k;

  Panel from(std::size_t column, std::size_t count) const {
    return packed ? Panel{all.data + column * k, static_cast<std::ptrdiff_t>(count)}
                  : Panel{all.data + column, all.stride};
  }
};

// All blocks of rows with one panel.
void multiply_panel(const Columns& a, Panel panel, Output out, std::size_t m, std::size_t width) {
  const std::size_t vectors = divide_up(width, kLanes);
  for (std::size_t row = 0, rows; row < m; row += rows) {
    rows = block_rows(m - row);
    block_of(rows, vectors)(a.from(row, rows), panel, out.from(row, 0), a.k, width);
  }
}

void multiply(const Source& a, const Source& b, Output out, std::size_t k, std::size_t m, std::size_t n) {
  constexpr std::size_t kGroup = 4 * kPanelWidth;  // columns of b that are packed at once
  constexpr std::ptrdiff_t kMostApart = 1024;      // bytes
  float* const packed_b = scratch(k * (kGroup + m) + kLanes);
  float* const packed_a = packed_b + k * kGroup;
  // Floats are read where they lie: a block multiplies so long with those of one k that the next ones have time to come
  // from the second cache, where rows stay that are not too far apart.
  const bool packs = a.narrow || std::abs(a.row_bytes) > kMostApart;
  const Panel floats{reinterpret_cast<const float*>(a.data), a.row_bytes / static_cast<std::ptrdiff_t>(sizeof(float))};
  const Columns columns_a{packs ? Panel{packed_a, 0} : floats, packs, k};
  if (packs) pack_all(a, k, m, packed_a);
  for (std::size_t column = 0; column < n; column += kGroup) {
    const std::size_t columns = std::min(n - column, kGroup);
    // Panels that are read only once are not worth the copy, unless there is something to convert or to fill up.
    const bool in_place = !b.narrow && m <= kMaxRows && columns % kPanelWidth == 0;
    if (!in_place) pack_panels(b.from_column(column), columns, k, packed_b);
    for (std::size_t c = 0; c < columns; c += kPanelWidth) {
      const std::size_t width = std::min(columns - c, kPanelWidth);
      const auto step = static_cast<std::ptrdiff_t>(divide_up(width, kLanes) * kLanes);
      const Panel panel = in_place ? Panel{reinterpret_cast<const float*>(b.from_column(column + c).data),
                                           b.row_bytes / static_cast<std::ptrdiff_t>(sizeof(float))}
                                   : Panel{packed_b + c * k, step};
      multiply_panel(columns_a, panel, out.from(0, column + c), m, width);
    }
  }
}

// A product with one row or one column: sums of rows with weights, read where they lie. `step`: from one sum to the
// next.
template <class Weight, class Element>
void multiply_vector_as(const Source& weights, const Source& rows, Output out, std::ptrdiff_t step, std::size_t k,
                        std::size_t width) {
  const Tag d;
  constexpr std::size_t kBlock = 8;
  alignas(64) float sums[kBlock * kLanes];
  for (std::size_t column = 0; column < width; column += kBlock * kLanes) {
    const std::size_t n = std::min(width - column, kBlock * kLanes), vectors = n / kLanes, rest_width = n % kLanes;
    Vec sum[kBlock], rest = hn::Zero(d);
    for (Vec& s : sum) s = hn::Zero(d);
    const std::byte *weight = weights.data, *at = rows.from_column(column).data;
    for (std::size_t i = 0; i < k; ++i, weight += weights.row_bytes, at += rows.row_bytes) {
      const Vec w = hn::Set(d, Weight::one(reinterpret_cast<const typename Weight::Raw*>(weight)));
      const auto* row = reinterpret_cast<const typename Element::Raw*>(at);
      if (vectors == kBlock) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kBlock; ++v) sum[v] = hn::MulAdd(w, Element::load(row + v * kLanes), sum[v]);
        continue;
      }
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kBlock; ++v) {
        if (v < vectors) sum[v] = hn::MulAdd(w, Element::load(row + v * kLanes), sum[v]);
      }
      if (rest_width) rest = hn::MulAdd(w, Element::load_first(row + vectors * kLanes, rest_width), rest);
    }
    for (std::size_t v = 0; v < kBlock; ++v) hn::Store(v < vectors ? sum[v] : rest, d, sums + v * kLanes);
    float* to = out.data + static_cast<std::ptrdiff_t>(column) * step;
    for (std::size_t i = 0; i < n; ++i, to += step) *to = out.accumulate ? *to + sums[i] : sums[i];
  }
}

void multiply_vector(const Source& weights, const Source& rows, Output out, std::ptrdiff_t step, std::size_t k,
                     std::size_t width) {
  const auto multiply_as = weights.narrow
                               ? (rows.narrow ? multiply_vector_as<Narrow, Narrow> : multiply_vector_as<Narrow, Wide>)
                               : (rows.narrow ? multiply_vector_as<Wide, Narrow> : multiply_vector_as<Wide, Wide>);
  multiply_as(weights, rows, out, step, k, width);
}

void matmul(const Factor& a, const Factor& b, float* out, std::ptrdiff_t out_stride, std::size_t k, std::size_t m,
            std::size_t n, bool accumulate) {
  const Output to{out, out_stride, accumulate};
  if (m == 1) return multiply_vector(Source(a), Source(b), to, 1, k, n);
  if (n == 1) return multiply_vector(Source(b), Source(a), to, out_stride, k, m);
  multiply(Source(a), Source(b), to, k, m, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(matmul);

void matmul(const Factor& a, const Factor& b, float* out, std::ptrdiff_t out_stride, std::size_t k, std::size_t m,
            std::size_t n, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(matmul)(a, b, out, out_stride, k, m, n, accumulate);
}

}  // namespace kiln::fast
#endif
