#include "kernels/sparse/attention_parts.h"

#include <fmt/format.h>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/turned_load.h"
#include "kernels/sparse/sparse_rules.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kMasksThatStay = 64;  // 16 KiB of a partition
constexpr std::int64_t kLoadTogether = 4;    // tiles that stay come by one DMA

}  // namespace

void require_attention(const char* what, const AttentionConfig& c) {
  require_pattern(what, c.pattern);
  require_sizes(what, {c.heads, c.head});
  require_float(what, c.dtype);
  if (c.head > kMostHead)
    raise(sparse_rules::kTable, sparse_rules::kHead, {.found = fmt::format("{} with heads of {}", what, c.head)});
  const bool fits = c.mask.empty() || static_cast<std::int64_t>(c.mask.size()) == c.pattern.count();
  if (!fits) raise(sparse_rules::kTable, sparse_rules::kPattern, {.found = "masks for other tiles than are stored"});
}

HeadRows::HeadRows(Kernel& k, const View& matrix, bool stays, bool is_awaited)
    : k_(k), matrix_(matrix), stays_(stays), is_awaited_(is_awaited) {}

Piece HeadRows::neighbours(std::int64_t t) const {
  const std::int64_t whole = matrix_.dim(0) / kTile;
  if (!stays_ || t >= whole) return {t, 1};
  const bool is_first = is_awaited_ && first_ >= 0 && t / kLoadTogether == first_ / kLoadTogether;
  const std::int64_t together = is_first ? kLoadTogether / 2 : kLoadTogether, first = t / together * together;
  return {first, std::min(together, whole - first)};
}

View HeadRows::tile(std::int64_t t) {
  if (const auto found = tiles_.find(t); found != tiles_.end()) return found->second;
  const Piece some = neighbours(t);
  const std::int64_t rows = height(t);
  const View loaded = k_.sbuf({rows, some.size, matrix_.dim(1)}, matrix_.dtype());
  const View from = matrix_(ds(some.start * kTile, some.size * rows)).reshape_dim(0, {some.size, rows});
  k_.dma_copy({.dst = loaded, .src = from.permute({1, 0, 2})});
  if (!stays_) return loaded.select(1, 0);
  for (std::int64_t i = 0; i < some.size; ++i) tiles_[some.start + i] = loaded.select(1, i);
  return tiles_[t];
}

View HeadRows::turned(std::int64_t t, std::int64_t count) {
  if (first_ < 0) first_ = t;
  const std::int64_t head = matrix_.dim(1), width = (count - 1) * kTile + height(t + count - 1);
  const auto load = [&](const View& to, std::int64_t first, std::int64_t rows) {
    load_chunk(k_, to, {matrix_, false}, 0, head, first * kTile, rows);
  };
  if (!stays_) {
    const View some = chunk_tile(k_, head, count * kTile, matrix_.dtype())(all, all, ds(0, width));
    load(some, t, width);
    return some;
  }
  if (all_turned_.rank() == 0)
    all_turned_ = chunk_tile(k_, head, tiles_of(matrix_.dim(0), kTile) * kTile, matrix_.dtype());
  for (std::int64_t i = t; i < t + count; ++i) {
    if (loaded_[i]) continue;
    const Piece some = neighbours(i);
    const std::int64_t rows = (some.size - 1) * kTile + height(some.start + some.size - 1);
    load(all_turned_(all, all, ds(some.start * kTile, rows)), some.start, rows);
    for (std::int64_t j = some.start; j < some.start + some.size; ++j) loaded_[j] = true;
  }
  return all_turned_(all, all, ds(t * kTile, width));
}

View round_out(Kernel& k, const AttentionConfig& c, const View& out) {
  if (!c.stores_unrounded()) return out;
  const View rounded = k.sbuf(out.shape(), c.dtype);
  k.tensor_copy({.dst = rounded, .src = out, .engine = Engine::gpsimd});
  return rounded;
}

void store_zero_rows(Kernel& k, const AttentionConfig& c, const AttentionTensors& t, const Index& h, std::int64_t lanes,
                     std::int64_t row) {
  const std::int64_t m = c.pattern.height(row);
  const auto store = [&](const View& memory) {
    const View zero = k.sbuf({m, lanes, c.head}, memory.dtype());
    k.memset({.dst = zero, .value = 0.0});
    k.dma_copy({.dst = memory(ds(h, lanes), ds(row * kTile, m)).permute({1, 0, 2}), .src = zero});
  };
  store(t.out);
  if (c.stores_unrounded()) store(t.unrounded);
}

View head_sums(Kernel& k, std::int64_t m, std::int64_t head) {
  std::int64_t columns = 16;  // a power of two, so that none lies across two banks
  while (columns < head) columns *= 2;
  return k.psum({m, columns}, DType::float32)(all, ds(0, head));
}

void add_scores(Kernel& k, const View& dst, const View& a, const View& b, std::int64_t head) {
  for (const Piece& p : whole_pieces(head, kTile)) {
    const Slice depth = ds(0, p.size);
    k.nc_matmul({.dst = dst, .stationary = a(depth, p.start / kTile), .moving = b(depth, p.start / kTile)});
  }
}

Masks::Masks(Kernel& k, const AttentionConfig& c) : k_(k), c_(c) {
  if (c.masks > 0) masks_ = k.input("masks", {c.masks, kTile, kTile}, DType::float32);
}

void Masks::apply(const View& x, const View& scores, std::int64_t tile) const {
  if (!has(tile)) {
    k_.tensor_scalar({.dst = x, .data = scores, .op0 = AluOp::multiply, .operand0 = c_.scale});
    return;
  }
  const View mask = load(c_.mask[tile], x.dim(0), x.dim(1));
  k_.scalar_tensor_tensor(
      {.dst = x, .data = scores, .op0 = AluOp::multiply, .operand0 = c_.scale, .op1 = AluOp::add, .operand1 = mask});
}

View Masks::load(std::int64_t mask, std::int64_t rows, std::int64_t columns) const {
  const View loaded = k_.sbuf({rows, columns}, DType::float32);
  k_.dma_copy({.dst = loaded, .src = masks_.select(0, mask)(ds(0, rows), ds(0, columns))});
  return loaded;
}

// A mask is 0 and a power of two: bfloat16 has both.
View Masks::narrow(std::int64_t mask) const {
  const View to = k_.sbuf({kTile, kTile}, DType::bfloat16);
  k_.tensor_copy({.dst = to, .src = load(mask, kTile, kTile), .engine = Engine::gpsimd});
  return to;
}

void Masks::prepare_turned() {
  if (c_.masks == 0) return;
  const View ones = k_.sbuf({kTile, kTile}, DType::bfloat16);
  identity_ = k_.sbuf({kTile, kTile}, DType::bfloat16);
  k_.memset({.dst = ones, .value = 1.0});
  k_.affine_select({.dst = identity_,
                    .pattern = {{-1, kTile}},
                    .channel_multiplier = 1,
                    .on_true_tile = ones,
                    .on_false_value = 0.0,
                    .cmp_op = AluOp::equal});
  if (c_.masks > kMasksThatStay) return;
  for (std::int64_t m = 0; m < c_.masks; ++m) turned_.push_back(narrow(m));
}

// Queries lie on the partitions of a mask: its product with the identity is turned.
void Masks::add_turned(const View& scores, std::int64_t tile) const {
  const std::int64_t mask = c_.mask[tile], keys = scores.dim(0), queries = scores.dim(1);
  const View from = turned_.empty() ? narrow(mask) : turned_[mask];
  k_.nc_matmul({.dst = scores,
                .stationary = from(ds(0, queries), ds(0, keys)),
                .moving = identity_(ds(0, queries), ds(0, queries))});
}

std::vector<Piece> equal_pieces(std::int64_t tiles, std::int64_t n) {
  std::vector<Piece> pieces;
  for (std::int64_t t = 0; t < tiles; ++t) pieces.push_back({t * n, n});
  return pieces;
}

View interleaved(const View& x, std::int64_t tiles) {
  return x.reshape_dim(1, {x.dim(1) / tiles, tiles}).permute({0, 2, 1});
}

void store_interleaved(Kernel& k, const View& matrix, std::int64_t tile, const View& out) {
  const View rows = matrix(ds(tile * kTile, out.dim(0) * out.dim(1)));
  k.dma_copy({.dst = rows.reshape_dim(0, {out.dim(0), out.dim(1)}), .src = out});
}

void turn_tiles(Kernel& k, const View& to, const View& data, const std::vector<Piece>& tiles,
                std::optional<std::size_t> number) {
  const Arch& chip = arch(k.program().target);
  // Where DMAs are fast at it, they leave the tensor engine to the products.
  if (!number && chip.dma.transpose_rate_sbuf >= kFastTurns && data.dim(0) == kTile && tiles.back().size == kTile) {
    const std::int64_t count = static_cast<std::int64_t>(tiles.size());
    k.dma_transpose({.dst = to, .src = data.reshape_dim(1, {count, kTile})});
    return;
  }
  const bool whole = chip.features.tensor_transpose_mode;
  if (!whole) {
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      const View part = k.sbuf({data.dim(0), tiles[t].size}, data.dtype());
      k.tensor_copy({.dst = part, .src = data(all, ds(tiles[t].start, tiles[t].size))});
      turn(k, to(ds(0, tiles[t].size), static_cast<int>(t)), part);
    }
    return;
  }
  const std::int64_t m = data.dim(0);
  const View bank = k.psum({kTile, static_cast<std::int64_t>(tiles.size()), m}, data.dtype());
  std::int64_t full = 0;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const std::int64_t n = tiles[t].size;
    k.nc_transpose({.dst = bank(ds(0, n), static_cast<int>(t)), .data = data(all, ds(tiles[t].start, n))});
    if (n == kTile) full = static_cast<std::int64_t>(t) + 1;
  }
  // A narrower tile is the last one.
  if (full > 0) evict(k, to(all, ds(0, full)), bank(all, ds(0, full)), number.value_or(1));
  if (full < static_cast<std::int64_t>(tiles.size())) {
    const Slice rest = ds(0, tiles.back().size);
    evict(k, to(rest, full), bank(rest, full), number.value_or(1));
  }
}

}  // namespace kiln::kernels
