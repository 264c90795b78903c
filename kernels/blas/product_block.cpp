#include "kernels/blas/product_block.h"

#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

std::vector<Piece> whole_pieces(std::int64_t size, std::int64_t tile) {
  std::vector<Piece> pieces;
  for (std::int64_t start = 0; start < size; start += tile) pieces.push_back({start, std::min(tile, size - start)});
  return pieces;
}

std::vector<Piece> even_pieces(std::int64_t size, std::int64_t tile) {
  return whole_pieces(size, tiles_of(size, tiles_of(size, tile)));
}

void tiles_from(Kernel& k, std::int64_t start, std::int64_t total, std::int64_t tile,
                const std::function<void(Index, std::int64_t)>& body) {
  if (start >= total) return;
  k.tiles(total - start, tile, [&](Index i, std::int64_t size) { body(i + start, size); });
}

View chunk_tile(Kernel& k, std::int64_t rows, std::int64_t x, DType dtype, Kernel::Where at) {
  // Transposing DMAs want to write to multiples of 32 bytes.
  const std::int64_t padded = (x + 15) / 16 * 16;
  return k.sbuf({kTile, tiles_of(rows, kTile), padded}, dtype, {}, at)(all, all, ds(0, x));
}

void load_chunk(Kernel& k, const View& to, const Source& from, const Index& k0, std::int64_t rows, const Index& x0,
                std::int64_t x) {
  if (!from.k_first && turns_on_tensor_engine(arch(k.program().target)))
    return load_turned(k, {to}, from.matrix, k0, rows, x0, x);
  const auto part = [&](const View& tile, const Index& first, std::int64_t tiles, std::int64_t height) {
    const std::int64_t size = tiles * height;
    if (from.k_first) {
      const View src = from.matrix(ds(first, size), ds(x0, x)).reshape_dim(0, {tiles, height}).permute({1, 0, 2});
      k.dma_copy({.dst = tile, .src = src});
    } else {
      k.dma_transpose({.dst = tile, .src = from.matrix(ds(x0, x), ds(first, size)).reshape_dim(1, {tiles, height})});
    }
  };
  const std::int64_t whole = rows / kTile, rest = rows % kTile;
  if (whole > 0) part(to(all, ds(0, whole)), k0, whole, kTile);
  if (rest > 0) part(to(ds(0, rest), ds(whole, 1)), k0 + whole * kTile, 1, rest);
}

ProductBlock::ProductBlock(Kernel& k, std::int64_t m, std::int64_t n)
    : k_(k), rows_(whole_pieces(m, kTile)), columns_(even_pieces(n, kWide)) {
  for (const Piece& row : rows_) {
    for (const Piece& column : columns_)
      sums_.push_back(k.psum({kTile, kWide}, DType::float32)(ds(0, row.size), ds(0, column.size)));
  }
}

void ProductBlock::add_tile(const View& a, const View& b) {
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      k_.nc_matmul({.dst = sum(r, c),
                    .stationary = a(all, ds(rows_[r].start, rows_[r].size)),
                    .moving = b(all, ds(columns_[c].start, columns_[c].size))});
  }
}

void ProductBlock::add(const View& a, const View& b, std::int64_t rows) {
  const std::int64_t whole = rows / kTile, rest = rows % kTile;
  if (whole > 0) k_.loop(whole, [&](Index i) { add_tile(a.select(1, i), b.select(1, i)); });
  if (rest > 0) add_tile(a(ds(0, rest), whole), b(ds(0, rest), whole));
}

void evict(Kernel& k, const View& to, const View& sum, std::size_t turn) {
  if (turn % 2 == 0)
    k.tensor_copy({.dst = to, .src = sum, .engine = Engine::vector});
  else if (arch(k.program().target).features.scalar_tensor_ops)
    k.tensor_copy({.dst = to, .src = sum, .engine = Engine::scalar});
  else
    k.activation({.dst = to, .op = ActFn::copy, .data = sum});
}

}  // namespace kiln::kernels
