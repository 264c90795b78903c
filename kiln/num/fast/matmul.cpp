// Both operands come K-major, so a block of outputs held in registers reads, for each k, a short run of a
// (broadcast) and a short run of b (vectors). Rows of a tile lie a power of two apart and would fight for the
// same cache sets, so the runs are first packed into contiguous panels: all of a once, b one panel at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/matmul.cpp"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "kiln/num/fast/fast.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::HWY_NAMESPACE {
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

struct Matrix {
  const float* data;
  std::ptrdiff_t stride;

  Matrix from_column(std::size_t column) const { return {data + column, stride}; }
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

// One block of kRows rows and kVectors vectors. `a` is a packed panel, kRows floats for each k; b has whole
// vectors. The loops over rows and vectors must unroll fully for the sums to stay in registers.
template <std::size_t kRows, std::size_t kVectors>
void multiply_block(const float* a, Matrix b, Output out, std::size_t k, std::size_t width) {
  const Tag d;
  Vec sums[kRows][kVectors];
#pragma GCC unroll 14
  for (auto& row : sums) {
#pragma GCC unroll 2
    for (Vec& sum : row) sum = hn::Zero(d);
  }
  for (const float* const end = a + k * kRows; a != end; a += kRows, b.data += b.stride) {
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

using Block = void (*)(const float* a, Matrix b, Output out, std::size_t k, std::size_t width);

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
void pack(Matrix from, std::size_t width, std::size_t step, std::size_t k, float* to) {
  const Tag d;
  const std::size_t whole = width / kLanes * kLanes;
  const auto rest = hn::FirstN(d, width - whole);
  for (std::size_t i = 0; i < k; ++i, from.data += from.stride, to += step) {
    for (std::size_t j = 0; j < whole; j += kLanes) hn::StoreU(hn::LoadU(d, from.data + j), d, to + j);
    if (whole != width) hn::StoreU(hn::MaskedLoad(rest, d, from.data + whole), d, to + whole);
  }
}

// Asks for the first `width` columns of rows [first, end): they come near while something else is computed.
// Rows lie so far apart that the processor does not guess the next one.
HWY_INLINE void prefetch(Matrix from, std::size_t width, std::size_t first, std::size_t end) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (std::size_t i = first; i < end; ++i) {
    const float* row = from.data + static_cast<std::ptrdiff_t>(i) * from.stride;
    for (std::size_t j = 0; j < width; j += kLine) __builtin_prefetch(row + j, 0, 2);
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

void multiply(Matrix a, Matrix b, Output out, std::size_t k, std::size_t m, std::size_t n) {
  float* const packed_b = scratch(k * (kPanelWidth + m) + kLanes);
  float* const packed_a = packed_b + k * kPanelWidth;
  prefetch(a, m, 0, k);
  prefetch(b, std::min(n, kPanelWidth), 0, k);
  for (std::size_t row = 0, rows; row < m; row += rows) {
    rows = block_rows(m - row);
    pack(a.from_column(row), rows, rows, k, packed_a + row * k);
  }
  for (std::size_t column = 0; column < n; column += kPanelWidth) {
    const std::size_t width = std::min(n - column, kPanelWidth);
    const std::size_t vectors = divide_up(width, kLanes);
    const std::size_t next_width = std::min(n - column - width, kPanelWidth);
    Matrix panel = b.from_column(column);
    // A whole panel that is read only once is not worth the copy.
    if (m > kMaxRows || width < kPanelWidth) {
      pack(panel, width, vectors * kLanes, k, packed_b);
      panel = {packed_b, static_cast<std::ptrdiff_t>(vectors * kLanes)};
    }
    for (std::size_t row = 0, rows; row < m; row += rows) {
      rows = block_rows(m - row);
      prefetch(b.from_column(column + width), next_width, k * row / m, k * (row + rows) / m);
      block_of(rows, vectors)(packed_a + row * k, panel, out.from(row, column), k, width);
    }
  }
}

// A product with one row or one column: sums of rows with weights, read where they lie. `step`: from one sum to the
// next.
void multiply_vector(Matrix weights, Matrix rows, Output out, std::ptrdiff_t step, std::size_t k, std::size_t width) {
  const Tag d;
  constexpr std::size_t kBlock = 8;
  alignas(64) float sums[kBlock * kLanes];
  for (std::size_t column = 0; column < width; column += kBlock * kLanes) {
    const std::size_t n = std::min(width - column, kBlock * kLanes), vectors = n / kLanes;
    Vec sum[kBlock], rest = hn::Zero(d);
    for (Vec& s : sum) s = hn::Zero(d);
    const auto exists = hn::FirstN(d, n - vectors * kLanes);
    const float *weight = weights.data, *row = rows.data + column;
    for (std::size_t i = 0; i < k; ++i, weight += weights.stride, row += rows.stride) {
      const Vec w = hn::Set(d, *weight);
      if (vectors == kBlock) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kBlock; ++v) sum[v] = hn::MulAdd(w, hn::LoadU(d, row + v * kLanes), sum[v]);
        continue;
      }
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kBlock; ++v) {
        if (v < vectors) sum[v] = hn::MulAdd(w, hn::LoadU(d, row + v * kLanes), sum[v]);
      }
      if (n % kLanes) rest = hn::MulAdd(w, hn::MaskedLoad(exists, d, row + vectors * kLanes), rest);
    }
    for (std::size_t v = 0; v < kBlock; ++v) hn::Store(v < vectors ? sum[v] : rest, d, sums + v * kLanes);
    float* to = out.data + static_cast<std::ptrdiff_t>(column) * step;
    for (std::size_t i = 0; i < n; ++i, to += step) *to = out.accumulate ? *to + sums[i] : sums[i];
  }
}

void matmul(const float* a, std::ptrdiff_t a_stride, const float* b, std::ptrdiff_t b_stride, float* out,
            std::ptrdiff_t out_stride, std::size_t k, std::size_t m, std::size_t n, bool accumulate) {
  const Output to{out, out_stride, accumulate};
  if (m == 1) return multiply_vector({a, a_stride}, {b, b_stride}, to, 1, k, n);
  if (n == 1) return multiply_vector({b, b_stride}, {a, a_stride}, to, out_stride, k, m);
  multiply({a, a_stride}, {b, b_stride}, to, k, m, n);
}

}  // namespace
}  // namespace kiln::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(matmul);

void matmul(const float* a, std::ptrdiff_t a_stride, const float* b, std::ptrdiff_t b_stride, float* out,
            std::ptrdiff_t out_stride, std::size_t k, std::size_t m, std::size_t n, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(matmul)(a, a_stride, b, b_stride, out, out_stride, k, m, n, accumulate);
}

}  // namespace kiln::fast
#endif
