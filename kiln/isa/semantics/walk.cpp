// Walks over tiles row by row, in float32: map_rows and what is made of it.
#include <algorithm>
#include <bit>
#include <optional>

#include "kiln/isa/semantics/rows.h"

namespace kiln::isa {
namespace {

constexpr std::int64_t kShortRow = 64;

bool is_flat(const Tile& dst, std::initializer_list<const Tile*> inputs, Walk walk) {
  if (walk == Walk::by_row || (walk == Walk::by_rows && dst.free_size >= kShortRow)) return false;
  return dst.is_dense() && std::ranges::all_of(inputs, [](const Tile* t) { return t->is_dense(); });
}

// Each value `width` times. A constant number of moves beyond each one's place costs less than a call for it.
const float* repeat_each(const float* values, std::size_t n, std::size_t width, float* out) {
  constexpr std::size_t kAtOnce = 8;
  float* to = out;
  std::size_t i = 0;
  for (; width <= kAtOnce && i + kAtOnce < n; ++i, to += width) {
    for (std::size_t j = 0; j < kAtOnce; ++j) to[j] = values[i];
  }
  for (; i < n; ++i, to += width) std::fill_n(to, width, values[i]);
  return out;
}

// Looks at what a walk writes to a tile, for Run::seen.
class Sight {
 public:
  // `dst`: the tile as the instruction has it, `to`: as it is walked.
  Sight(const Run& r, const Tile& dst, const Tile& to) : r_(r), to_(to), bytes_(static_cast<int>(to.element_bytes())) {
    const bool asked = r.seen && r.seen->data == dst.data && to.row_is_contiguous() && !to.row_offset;
    seen_ = asked ? r.seen : nullptr;
  }
  // Before a piece of a row is written.
  void before(std::int64_t row, std::int64_t first, std::size_t n) {
    if (seen_ && seen_->before.asked) see_before(row, first, n);
  }
  // Asks the body of a chunk whose results come to lie there. Rounding keeps the largest one the largest.
  void ask(RowChunk& chunk) {
    if (seen_ && (to_.dtype == DType::float32 || to_.dtype == DType::bfloat16 || to_.dtype == DType::float16))
      chunk.largest = &told_;
  }
  // When it is written.
  void after(std::int64_t row, std::int64_t first, std::size_t n) {
    if (!seen_) return;
    add(told_ != kUntold ? as_stored(told_) : r_.k.largest(bytes_, to_.row(row) + first * bytes_, 1, n), n);
    told_ = kUntold;
  }

 private:
  static constexpr std::uint32_t kUntold = ~0u;  // no magnitude

  void add(std::uint32_t largest, std::size_t n) {
    seen_->largest = std::max(seen_->largest, largest);
    seen_->elements += static_cast<std::int64_t>(n);
  }

  // Of a magnitude of float32, that of the element it is rounded to.
  std::uint32_t as_stored(std::uint32_t magnitude) const {
    if (to_.dtype == DType::float32) return magnitude;
    const auto value = std::bit_cast<float>(magnitude);
    std::uint16_t bits;
    r_.k.store(to_.dtype, &value, 1, &bits, 1);
    return bits;
  }

  void see_before(std::int64_t row, std::int64_t first, std::size_t n) {
    Seen::Before& before = seen_->before;
    const std::byte* at = to_.row(row) + first * bytes_;
    const std::uint32_t largest = r_.k.largest(bytes_, at, 1, n);
    before.largest = std::max(before.largest, largest);
    before.elements += static_cast<std::int64_t>(n);
    if (largest < before.extreme) return;
    before.bits.resize(to_.count());
    r_.k.load_bits(bytes_, at, 1, n, before.bits.data() + row * to_.free_size + first);
  }

  const Run& r_;
  const Tile& to_;
  const int bytes_;
  Seen* seen_;
  std::uint32_t told_ = kUntold;
};

// Rows that are short, or that are brought together from elsewhere, many at a time.
void map_blocks(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs,
                FunctionRef<void(const RowChunk&)> body) {
  alignas(64) float scratch[3][kChunk];
  alignas(64) float result[kChunk];
  const std::int64_t n = dst.free_size, block = static_cast<std::int64_t>(kChunk) / n;
  Sight sight(r, dst, dst);
  Rows to(r, dst);
  std::optional<Rows> from[3];
  for (std::size_t k = 0; k < inputs.size(); ++k) from[k].emplace(r, *inputs.begin()[k]);
  for (std::int64_t first = 0; first < dst.rows; first += block) {
    const std::int64_t rows = std::min(block, dst.rows - first);
    float* const in_place = to.floats(first);
    RowChunk chunk{first, 0, static_cast<std::size_t>(rows * n), {}, in_place ? in_place : result, n};
    for (std::size_t k = 0; k < inputs.size(); ++k) chunk.in[k] = from[k]->load(first, rows, scratch[k]);
    if (dst.is_dense()) sight.before(first, 0, chunk.n);
    if (dst.is_dense()) sight.ask(chunk);
    body(chunk);
    if (!in_place) to.store(first, rows, result);
    if (dst.is_dense()) sight.after(first, 0, chunk.n);
  }
}

// Whether rows are better taken several at a time: short ones, and those that come from or go to one place without gaps
// where an instruction does not care for rows.
bool goes_by_blocks(const Tile& dst, std::initializer_list<const Tile*> inputs, Walk walk) {
  const auto is_dense = [](const Tile* t) { return t->is_dense(); };
  const bool scatters = !dst.row_is_contiguous() && std::ranges::all_of(inputs, is_dense);
  const std::int64_t most = walk == Walk::anyhow && (dst.is_dense() || scatters) ? kChunk / 2 : kShortRow - 1;
  return walk != Walk::by_row && dst.rows > 1 && dst.free_size > 0 && dst.free_size <= most && is_regular(dst) &&
         std::ranges::all_of(inputs, [](const Tile* t) { return is_regular(*t); });
}

}  // namespace

void map_rows(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, Walk walk,
              FunctionRef<void(const RowChunk&)> body) {
  const bool flat = is_flat(dst, inputs, walk);
  if (!flat && goes_by_blocks(dst, inputs, walk)) return map_blocks(r, dst, inputs, body);
  alignas(64) float scratch[3][kChunk];
  alignas(64) float result[kChunk];
  Tile to = dst, from[3];
  std::size_t input_count = 0;
  for (const Tile* t : inputs) from[input_count++] = *t;
  if (flat) {
    flatten(to);
    for (std::size_t i = 0; i < input_count; ++i) flatten(from[i]);
  }
  const bool direct = dst.dtype == DType::float32 && dst.row_is_contiguous();
  const std::int64_t width = flat && walk == Walk::by_rows ? dst.free_size : 0;
  Sight sight(r, dst, to);
  const std::int64_t step = width ? static_cast<std::int64_t>(kChunk) / width * width : kChunk;
  for (std::int64_t row = 0; row < to.rows; ++row) {
    for (std::int64_t first = 0; first < to.free_size; first += step) {
      RowChunk chunk{row, first, static_cast<std::size_t>(std::min(step, to.free_size - first)), {}, result, width};
      for (std::size_t i = 0; i < input_count; ++i) chunk.in[i] = load_row(r, from[i], row, first, chunk.n, scratch[i]);
      if (width) chunk.row = first / width, chunk.first = 0;
      sight.before(row, first, chunk.n);
      if (direct) chunk.out = reinterpret_cast<float*>(to.row(row)) + first;
      sight.ask(chunk);
      body(chunk);
      if (!direct) store_row(r, to, row, first, chunk.n, result);
      sight.after(row, first, chunk.n);
    }
  }
}

const float* spread_column(const Run& r, int operand, const RowChunk& c, float* out) {
  alignas(64) float scratch[kChunk];
  const std::size_t width = c.width, rows = c.n / width;
  const float* column =
      Rows(r, r.tile(operand)).load(c.row, static_cast<std::int64_t>(rows), width > 1 ? scratch : out);
  return width > 1 ? repeat_each(column, rows, width, out) : column;
}

std::uint32_t apply_operand(const Run& r, AluOp op, bool swapped, const RowChunk& c, const float* x, int operand,
                            float* out, float otherwise) {
  if (c.width && r.is_tile(operand)) {
    alignas(64) float numbers[kChunk];
    const float* column = spread_column(r, operand, c, numbers);
    return swapped ? r.k.alu_vv(op, column, x, out, c.n) : r.k.alu_vv(op, x, column, out, c.n);
  }
  const float value = r.column(operand, c.row, otherwise);
  return swapped ? r.k.alu_sv(op, value, x, out, c.n) : r.k.alu_vs(op, x, value, out, c.n);
}

namespace {

// Short rows, many at a time.
void map_and_fold_blocks(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, AluOp op, float* acc,
                         FunctionRef<void(const RowChunk&)> body) {
  alignas(64) float scratch[3][kChunk];
  alignas(64) float result[kChunk];
  const std::int64_t n = dst.free_size, block = static_cast<std::int64_t>(kChunk) / n;
  Sight sight(r, dst, dst);
  Rows to(r, dst);
  std::optional<Rows> from[3];
  for (std::size_t k = 0; k < inputs.size(); ++k) from[k].emplace(r, *inputs.begin()[k]);
  for (std::int64_t first = 0; first < dst.rows; first += block) {
    const std::int64_t rows = std::min(block, dst.rows - first);
    RowChunk chunk{first, 0, static_cast<std::size_t>(rows * n), {}, result, n};
    for (std::size_t k = 0; k < inputs.size(); ++k) chunk.in[k] = from[k]->load(first, rows, scratch[k]);
    if (dst.is_dense()) sight.before(first, 0, chunk.n);
    if (dst.is_dense()) sight.ask(chunk);
    body(chunk);
    to.store(first, rows, result);
    if (dst.is_dense()) sight.after(first, 0, chunk.n);
    r.k.fold_rows(op, result, n, rows, n, acc + first);
  }
}

}  // namespace

void map_and_fold(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, AluOp op, float* acc,
                  FunctionRef<void(const RowChunk&)> body, Walk walk) {
  if (walk != Walk::by_row && dst.free_size > 0 && dst.free_size < kShortRow && is_regular(dst) &&
      std::ranges::all_of(inputs, [](const Tile* t) { return is_regular(*t); }))
    return map_and_fold_blocks(r, dst, inputs, op, acc, body);
  constexpr std::size_t kRows = 16, kColumns = 256;  // folded together: folds are fast across rows
  alignas(64) float scratch[3][kColumns];
  alignas(64) float results[kRows][kColumns];
  Sight sight(r, dst, dst);
  for (std::int64_t block = 0; block < dst.rows; block += kRows) {
    const std::size_t rows = std::min<std::size_t>(kRows, dst.rows - block);
    for (std::int64_t first = 0; first < dst.free_size; first += kColumns) {
      const std::size_t n = std::min<std::size_t>(kColumns, dst.free_size - first);
      for (std::size_t i = 0; i < rows; ++i) {
        const std::int64_t row = block + static_cast<std::int64_t>(i);
        RowChunk chunk{row, first, n, {}, results[i]};
        int k = 0;
        for (const Tile* t : inputs) chunk.in[k] = load_row(r, *t, row, first, n, scratch[k]), ++k;
        if (first == 0) sight.before(row, 0, dst.free_size);
        sight.ask(chunk);
        body(chunk);
        store_row(r, dst, row, first, n, results[i]);
        sight.after(row, first, n);
      }
      r.k.fold_rows(op, results[0], kColumns, rows, n, acc + block);
    }
  }
}

}  // namespace kiln::isa
