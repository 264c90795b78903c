// Both operands come K-major, so a block of outputs held in registers reads, for each k, a short run of a
// (broadcast) and a short run of b (vectors). Rows of a tile lie a power of two apart and would fight for the
// same cache sets, so the runs are first packed into contiguous panels of float32: all of a once, b one panel at a
// time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/matmul.cpp"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
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

// A line of each of k rows that is wanted soon.
struct Wanted {
  const std::byte* data;
  std::ptrdiff_t row_bytes;
};

// One block of kRows rows and kVectors vectors. `a` is a packed panel, kRows floats for each k; b has whole
// vectors. The loops over rows and vectors must unroll fully for the sums to stay in registers.
template <std::size_t kRows, std::size_t kVectors>
void multiply_block(const float* a, Panel b, Output out, std::size_t k, std::size_t width, Wanted next) {
  const Tag d;
  Vec sums[kRows][kVectors];
#pragma GCC unroll 14
  for (auto& row : sums) {
#pragma GCC unroll 2
    for (Vec& sum : row) sum = hn::Zero(d);
  }
  for (const float* const end = a + k * kRows; a != end; a += kRows, b.data += b.stride) {
    __builtin_prefetch(next.data, 0, 2);
    next.data += next.row_bytes;
    Vec columns[kVectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b.data + v * kLanes);
#pragma GCC unroll 14
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec weight = hn::Set(d, a[r]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weight, columns[v], sums[r][v]);
    }
  }
#pragma GCC unroll 14
  for (std::size_t r = 0; r < kRows; ++r) store_row<kVectors>(sums[r], out.from(r, 0), width);
}

using Block = void (*)(const float* a, Panel b, Output out, std::size_t k, std::size_t width, Wanted next);

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

// Copies the first `width` columns of the k rows of `from` to rows `step` apart. Whole vectors are written:
// what a row writes past its end the next row overwrites, so `to` needs room for one vector more.
template <class Kind>
void pack_as(const Source& from, std::size_t width, std::size_t step, std::size_t k, float* to) {
  const Tag d;
  const std::size_t whole = width / kLanes * kLanes;
  const std::byte* at = from.data;
  for (std::size_t i = 0; i < k; ++i, at += from.row_bytes, to += step) {
    const auto* row = reinterpret_cast<const typename Kind::Raw*>(at);
    for (std::size_t j = 0; j < whole; j += kLanes) hn::StoreU(Kind::load(row + j), d, to + j);
    if (whole != width) hn::StoreU(Kind::load_first(row + whole, width - whole), d, to + whole);
  }
}

void pack(const Source& from, std::size_t width, std::size_t step, std::size_t k, float* to) {
  from.narrow ? pack_as<Narrow>(from, width, step, k, to) : pack_as<Wide>(from, width, step, k, to);
}

// Asks for the first `width` columns of rows [first, end): they come near while something else is computed.
// Rows lie so far apart that the processor does not guess the next one.
HWY_INLINE void prefetch(const Source& from, std::size_t width, std::size_t first, std::size_t end) {
  constexpr std::size_t kLine = 64;
  const std::size_t bytes = width * from.element_bytes();
  for (std::size_t i = first; i < end; ++i) {
    const std::byte* row = from.data + static_cast<std::ptrdiff_t>(i) * from.row_bytes;
    for (std::size_t j = 0; j < bytes; j += kLine) __builtin_prefetch(row + j, 0, 2);
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

// The rows of the stationary operand are packed while the first panel needs them: a block is multiplied while the next
// one comes near.
void multiply(const Source& a, const Source& b, Output out, std::size_t k, std::size_t m, std::size_t n) {
  float* const packed_b = scratch(k * (kPanelWidth + m) + kLanes);
  float* const packed_a = packed_b + k * kPanelWidth;
  prefetch(a, block_rows(m), 0, k);
  prefetch(b, std::min(n, kPanelWidth), 0, k);
  for (std::size_t column = 0; column < n; column += kPanelWidth) {
    const std::size_t width = std::min(n - column, kPanelWidth);
    const std::size_t vectors = divide_up(width, kLanes);
    const std::size_t next_width = std::min(n - column - width, kPanelWidth);
    const Source columns = b.from_column(column), next_columns = b.from_column(column + width);
    Panel panel{reinterpret_cast<const float*>(columns.data), b.row_bytes / static_cast<std::ptrdiff_t>(sizeof(float))};
    // A whole panel that is read only once is not worth the copy.
    if (b.narrow || m > kMaxRows || width < kPanelWidth) {
      pack(columns, width, vectors * kLanes, k, packed_b);
      panel = {packed_b, static_cast<std::ptrdiff_t>(vectors * kLanes)};
    }
    for (std::size_t row = 0, rows; row < m; row += rows) {
      rows = block_rows(m - row);
      Wanted next{reinterpret_cast<const std::byte*>(packed_a), 0};
      if (column == 0) {
        pack(a.from_column(row), rows, rows, k, packed_a + row * k);
        const std::size_t left = m - row - rows;
        if (left) next = {a.from_column(row + rows + block_rows(left) - 1).data, a.row_bytes};
      }
      prefetch(next_columns, next_width, k * row / m, k * (row + rows) / m);
      block_of(rows, vectors)(packed_a + row * k, panel, out.from(row, column), k, width, next);
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
