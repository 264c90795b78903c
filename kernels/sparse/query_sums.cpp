#include "kernels/sparse/query_sums.h"

#include <algorithm>
#include <numeric>

#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kRows = kWide / kTile;  // of a block that is turned
constexpr std::int64_t kHalf = kTile / 2;      // heads of up to so many have two blocks on the partitions

// Blocks of turned sums that lie on the partitions.
std::int64_t blocks_together(std::int64_t head) { return head <= kHalf ? 2 : 1; }
bool shares_partitions(const AttentionConfig& c) { return blocks_together(c.head) > 1; }

}  // namespace

std::int64_t QuerySums::rows_of_block(const AttentionConfig& c) { return c.head <= kTile ? kRows : 1; }

std::int64_t QuerySums::bytes(const AttentionConfig& c) {
  const std::int64_t rows = c.pattern.tile_rows();
  if (c.head > kTile) return rows * c.head * 4;
  return tiles_of(rows, kRows * blocks_together(c.head)) * kWide * 4;
}

std::int64_t QuerySums::most_queries(std::int64_t head, std::int64_t bytes) {
  if (head > kTile) return bytes / (4 * head) * kTile;
  return bytes / (4 * kWide) * kWide * blocks_together(head);
}

QuerySums::QuerySums(Kernel& k, const AttentionConfig& c)
    : k_(k), c_(c), p_(c.pattern), begun_(c.pattern.tile_rows(), false) {
  const std::int64_t width = is_turned() ? kWide : c.head;
  sums_ = k.sbuf({kTile, bytes(c) / (4 * width), width}, f32);
  scale_ = k.sbuf({kTile, 1}, f32);
  k.memset({.dst = scale_, .value = c.scale});
}

std::shared_ptr<QuerySums::Block> QuerySums::begin_block(std::int64_t row) const {
  auto block = std::make_shared<Block>();
  block->first = row / rows_of_block(c_) * rows_of_block(c_);
  const std::int64_t tiles = std::min(rows_of_block(c_), p_.tile_rows() - block->first);
  const std::int64_t queries = std::min(p_.rows, (block->first + tiles) * kTile) - block->first * kTile;
  block->turned = k_.sbuf({kTile, kRows, queries}, c_.dtype);
  return block;
}

View QuerySums::place(Block& block, std::int64_t row, std::int64_t first, std::int64_t count) const {
  for (std::int64_t j = first; j < first + count; ++j) block.met[j][row - block.first] = true;
  return block.turned(all, ds(first, count), ds((row - block.first) * kTile, p_.height(row)));
}

void QuerySums::add(const Block& block, const std::vector<View>& keys) {
  if (is_turned())
    add_turned(block, keys);
  else
    add_straight(block, keys);
}

std::int64_t QuerySums::first_partition(std::int64_t row) const {
  return shares_partitions(c_) && row / kRows % 2 == 1 ? kHalf : 0;
}

// [head, queries] of some tiles of one block.
View QuerySums::sums_of(std::int64_t row, std::int64_t tiles) const {
  const std::int64_t block = row / kRows / blocks_together(c_.head), first = row % kRows * kTile;
  const std::int64_t queries = std::min(p_.rows, (row + tiles) * kTile) - row * kTile;
  return sums_(ds(first_partition(row), c_.head), block, ds(first, queries));
}

void QuerySums::add_up(const View& to, const View& more, bool is_begun) const {
  if (is_begun)
    k_.tensor_tensor({.dst = to, .data1 = to, .data2 = more, .op = AluOp::add, .engine = Engine::vector});
  else
    k_.tensor_copy({.dst = to, .src = more, .engine = Engine::vector});
}

// products [head, queries] = Σ keysᵀ turned. Tiles of queries that are all new or all begun go together.
void QuerySums::add_products(const Block& block, const std::vector<View>& keys, const View& products) const {
  std::vector<bool> begun(kRows, false);
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto queries = [&](std::size_t j) { return std::count(block.met[j].begin(), block.met[j].end(), true); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return queries(a) > queries(b); });
  for (const std::size_t j : order) {
    const std::vector<bool>& met = block.met[j];
    const auto kind = [&](std::int64_t i) { return met[i] ? 1 + begun[i] : 0; };
    for_runs(kRows, kind, [&](std::int64_t i, std::int64_t count, int what) {
      if (what == 0) return;
      const std::int64_t size = std::min(block.turned.dim(2), (i + count) * kTile) - i * kTile;
      nc_matmul_args product{.dst = products(all, ds(i * kTile, size)),
                             .stationary = keys[j],
                             .moving = block.turned(ds(0, keys[j].dim(0)), static_cast<int>(j), ds(i * kTile, size)),
                             .accumulate = what == 2};
      if (shares_partitions(c_)) {
        product.tile_position = {0, first_partition(block.first)};
        product.tile_size = {kTile, kHalf};
      }
      k_.nc_matmul(product);
    });
    for (std::int64_t i = 0; i < kRows; ++i) begun[i] = begun[i] || met[i];
  }
}

void QuerySums::add_turned(const Block& block, const std::vector<View>& keys) {
  const View products = k_.psum({kTile, kWide}, f32)(ds(first_partition(block.first), c_.head));
  add_products(block, keys, products);
  const auto kind = [&](std::int64_t i) {
    bool met = false;
    for (const auto& of_key : block.met) met = met || of_key[i];
    return met ? 1 + begun_[block.first + i] : 0;
  };
  for_runs(kRows, kind, [&](std::int64_t i, std::int64_t count, int what) {
    if (what == 0) return;
    const View to = sums_of(block.first + i, count);
    add_up(to, products(all, ds(i * kTile, to.dim(1))), what == 2);
    for (std::int64_t t = i; t < i + count; ++t) begun_[block.first + t] = true;
  });
}

void QuerySums::add_straight(const Block& block, const std::vector<View>& keys) {
  const std::int64_t m = p_.height(block.first);
  const View products = head_sums(k_, m, c_.head);
  for (std::size_t j = 0; j < keys.size(); ++j) {
    if (block.met[j][0])
      k_.nc_matmul(
          {.dst = products, .stationary = block.turned(ds(0, keys[j].dim(0)), static_cast<int>(j)), .moving = keys[j]});
  }
  add_up(sums_(ds(0, m), block.first), products, begun_[block.first]);
  begun_[block.first] = true;
}

// By gpsimd, which has little else to do.
void QuerySums::scale(const View& to, const View& from, std::int64_t partition) const {
  const View factor = scale_(ds(partition, to.dim(0))).expand_dim(2).broadcast(2, to.dim(2)).broadcast(1, to.dim(1));
  k_.tensor_tensor({.dst = to, .data1 = from, .data2 = factor, .op = AluOp::multiply, .engine = Engine::gpsimd});
}

void QuerySums::store(const View& memory) {
  for (std::int64_t first = 0; first < p_.tile_rows(); first += kRows) {
    const auto kind = [&](std::int64_t i) { return 2 * begun_[first + i] + (p_.height(first + i) == kTile); };
    for_runs(std::min(kRows, p_.tile_rows() - first), kind,
             [&](std::int64_t i, std::int64_t tiles, int) { store_run(memory, first + i, tiles); });
  }
}

// Some tiles that are all whole, or one, of which nothing or everything was added to.
void QuerySums::store_run(const View& memory, std::int64_t row, std::int64_t tiles) {
  const std::int64_t m = p_.height(row);
  const View out = k_.sbuf({m, tiles, c_.head}, c_.dtype);
  if (!begun_[row]) {
    k_.memset({.dst = out, .value = 0.0});
  } else if (is_turned()) {
    const View scaled = k_.sbuf({c_.head, tiles, m}, c_.dtype);
    scale(scaled, interleaved(sums_of(row, tiles), tiles), first_partition(row));
    turn_tiles(k_, out, scaled.flatten_dims(1, 2), equal_pieces(tiles, m));
  } else {
    scale(out, sums_(ds(0, m), ds(row, tiles)), 0);
    const View to = memory(ds(row * kTile, tiles * m)).reshape_dim(0, {tiles, m}).permute({1, 0, 2});
    k_.dma_copy({.dst = to, .src = out});
    return;
  }
  store_interleaved(k_, memory, row, out);
}

}  // namespace kiln::kernels
