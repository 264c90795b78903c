#include "kiln/isa/semantics/bfloat16_walk.h"

#include <algorithm>

namespace kiln::isa {
namespace {

constexpr std::int64_t kShortBfloat16Row = 64;  // these are better taken many at a time

bool is_plain_bfloat16(const Tile& t) { return t.dtype == DType::bfloat16 && !t.row_offset && !t.column; }

}  // namespace

bool map_bfloat16(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, Walk walk,
                  FunctionRef<std::uint32_t(const Bfloat16Chunk&)> body) {
  const bool asked = r.seen && r.seen->data == dst.data;
  if (&r.k != &fast_kernels() || &r.k == &plain_kernels() || (asked && r.seen->before.asked)) return false;
  if (!is_plain_bfloat16(dst) || !std::ranges::all_of(inputs, [](const Tile* t) { return is_plain_bfloat16(*t); }))
    return false;
  const bool flat = walk == Walk::anyhow && dst.is_dense() &&
                    std::ranges::all_of(inputs, [](const Tile* t) { return t->is_dense(); });
  if (!flat && dst.free_size < kShortBfloat16Row) return false;
  Tile to = dst, from[2];
  std::size_t count = 0;
  for (const Tile* t : inputs) from[count++] = *t;
  if (flat) {
    flatten(to);
    for (std::size_t i = 0; i < count; ++i) flatten(from[i]);
  }
  alignas(64) std::uint16_t scratch[2][kChunk], result[kChunk];
  const bool direct = to.row_is_contiguous();
  std::uint32_t largest = 0;
  // Several rows at a time that are brought together from elsewhere.
  const std::int64_t at_once = static_cast<std::int64_t>(kChunk) / to.free_size;
  const bool by_blocks = !flat && walk == Walk::anyhow && to.is_dense() && at_once > 1;
  for (std::int64_t row = 0; by_blocks && row < to.rows; row += at_once) {
    const std::int64_t rows = std::min(at_once, to.rows - row);
    Bfloat16Chunk chunk{
        row, static_cast<std::size_t>(rows * to.free_size), {}, reinterpret_cast<std::uint16_t*>(to.row(row))};
    for (std::size_t i = 0; i < count; ++i) {
      chunk.in[i] = from[i].is_dense() ? reinterpret_cast<const std::uint16_t*>(from[i].row(row)) : scratch[i];
      if (!from[i].is_dense()) load_rows_words(r, from[i], row, rows, scratch[i]);
    }
    largest = std::max(largest, body(chunk));
  }
  for (std::int64_t row = 0; !by_blocks && row < to.rows; ++row) {
    for (std::int64_t first = 0; first < to.free_size; first += kChunk) {
      Bfloat16Chunk chunk{row, std::min(kChunk, static_cast<std::size_t>(to.free_size - first)), {}, result};
      for (std::size_t i = 0; i < count; ++i)
        chunk.in[i] = static_cast<const std::uint16_t*>(load_row_words(r, from[i], row, first, chunk.n, scratch[i]));
      if (direct) chunk.out = reinterpret_cast<std::uint16_t*>(to.row(row)) + first;
      largest = std::max(largest, body(chunk));
      if (!direct) store_row_words(r, to, row, first, chunk.n, result);
    }
  }
  if (asked) {
    r.seen->largest = std::max(r.seen->largest, largest);
    r.seen->elements += dst.count();
  }
  return true;
}

}  // namespace kiln::isa
