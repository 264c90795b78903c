#include "kiln/isa/semantics/bfloat16_walk.h"

#include <algorithm>
#include <optional>
#include <span>

#include "kiln/isa/semantics/rows.h"

namespace kiln::isa {
namespace {

constexpr std::int64_t kShortBfloat16Row = 64;  // these are better taken many at a time

bool is_plain_bfloat16(const Tile& t) { return t.dtype == DType::bfloat16 && !t.row_offset && !t.column; }

std::uint32_t map_each_row(const Run& r, const Tile& to, std::span<const Tile> from,
                           FunctionRef<std::uint32_t(const Bfloat16Chunk&)> body) {
  alignas(64) std::uint16_t scratch[2][kChunk], result[kChunk];
  const bool direct = to.row_is_contiguous();
  std::uint32_t largest = 0;
  for (std::int64_t row = 0; row < to.rows; ++row) {
    for (std::int64_t first = 0; first < to.free_size; first += kChunk) {
      Bfloat16Chunk chunk{row, std::min(kChunk, static_cast<std::size_t>(to.free_size - first)), {}, result};
      for (std::size_t i = 0; i < from.size(); ++i)
        chunk.in[i] = static_cast<const std::uint16_t*>(load_row_words(r, from[i], row, first, chunk.n, scratch[i]));
      if (direct) chunk.out = reinterpret_cast<std::uint16_t*>(to.row(row)) + first;
      largest = std::max(largest, body(chunk));
      if (!direct) store_row_words(r, to, row, first, chunk.n, result);
    }
  }
  return largest;
}

// Several rows at a time, which come from elsewhere or go there.
std::uint32_t map_rows_together(const Run& r, const Tile& to, std::span<const Tile> from,
                                FunctionRef<std::uint32_t(const Bfloat16Chunk&)> body) {
  alignas(64) std::uint16_t scratch[2][kChunk], result[kChunk];
  Rows out(r, to);
  std::optional<Rows> in[2];
  for (std::size_t i = 0; i < from.size(); ++i) in[i].emplace(r, from[i]);
  const bool direct = to.is_dense();
  const std::int64_t at_once = static_cast<std::int64_t>(kChunk) / to.free_size;
  std::uint32_t largest = 0;
  for (std::int64_t row = 0; row < to.rows; row += at_once) {
    const std::int64_t rows = std::min(at_once, to.rows - row);
    Bfloat16Chunk chunk{row, static_cast<std::size_t>(rows * to.free_size), {}, result};
    if (direct) chunk.out = reinterpret_cast<std::uint16_t*>(to.row(row));
    for (std::size_t i = 0; i < from.size(); ++i)
      chunk.in[i] = static_cast<const std::uint16_t*>(in[i]->load_words(row, rows, scratch[i]));
    largest = std::max(largest, body(chunk));
    if (!direct) out.store_words(row, rows, result);
  }
  return largest;
}

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
  const bool by_blocks = !flat && walk == Walk::anyhow && to.free_size <= static_cast<std::int64_t>(kChunk) / 2;
  const std::uint32_t largest =
      by_blocks ? map_rows_together(r, to, {from, count}, body) : map_each_row(r, to, {from, count}, body);
  if (asked) {
    r.seen->largest = std::max(r.seen->largest, largest);
    r.seen->elements += dst.count();
  }
  return true;
}

}  // namespace kiln::isa
