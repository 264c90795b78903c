#include "kernels/blas/panel_loops.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

namespace {
constexpr std::int64_t kBlockBytes = 96 * 1024;  // of a partition, for a block of b
constexpr std::int64_t kLoadTiles = 16;          // of L in a load
}  // namespace

PanelLoops::PanelLoops(Kernel& k, Side side, const View& b, const View& out, Precision precision)
    : k_(k), turned_(side == Side::right), b_(b), out_(out), precision_(precision) {
  size_ = b.dim(turned_ ? 1 : 0), total_ = b.dim(turned_ ? 0 : 1);
  panels_ = whole_pieces(size_, kTile);
  width_ = kWide;
  while (width_ > 16 && static_cast<std::int64_t>(panels_.size()) * width_ * 4 > kBlockBytes) width_ /= 2;
}

void PanelLoops::blocks(const std::function<void(Index, std::int64_t)>& body) const { k_.tiles(total_, width_, body); }

View PanelLoops::load(const View& from, const Index& r0, std::int64_t width) const {
  const View block = chunk_tile(k_, size_, width, f32);
  for (const Piece& c : whole_pieces(size_, 4 * kTile)) {  // several loads: the first panel need not wait for all
    const View part = block(all, ds(c.start / kTile, tiles_of(c.size, kTile)));
    load_chunk(k_, part, {from, !turned_}, c.start, c.size, r0, width);
  }
  return block;
}

View PanelLoops::load(const View& from, const Piece& panel, const Index& r0, std::int64_t width) const {
  const View tile = chunk_tile(k_, panel.size, width, f32);
  load_chunk(k_, tile, {from, !turned_}, panel.start, panel.size, r0, width);
  return tile(ds(0, panel.size), 0);
}

void PanelLoops::store(const Piece& panel, const Index& r0, const View& tile) const {
  if (!turned_) {
    k_.dma_copy({.dst = out_(ds(panel.start, panel.size), ds(r0, tile.dim(1))), .src = tile});
    return;
  }
  for (const Piece& r : whole_pieces(tile.dim(1), kTile)) {
    const View rows = k_.sbuf({r.size, panel.size}, f32);
    turn(k_, rows, tile(all, ds(r.start, r.size)));
    k_.dma_copy({.dst = out_(ds(r0 + r.start, r.size), ds(panel.start, panel.size)), .src = rows});
  }
}

std::vector<View> PanelLoops::diagonal_blocks(const Source& l, Uplo uplo, bool unit) const {
  Kernel& k = k_;
  std::vector<View> blocks;
  View identity;
  if (unit) {
    const View ones = k.sbuf({kTile, kTile}, f32), lower = k.sbuf({kTile, kTile}, f32);
    k.memset({.dst = ones, .value = 1.0});
    keep_triangle(k, lower, ones, Uplo::lower);
    identity = k.sbuf({kTile, kTile}, f32);
    keep_triangle(k, identity, lower, Uplo::upper);
  }
  for (const Piece& p : panels_) {
    const View loaded = chunk_tile(k, p.size, p.size, f32), block = k.sbuf({p.size, p.size}, f32);
    load_chunk(k, loaded, l, p.start, p.size, p.start, p.size);
    keep_triangle(k, block, loaded(ds(0, p.size), 0), opposite(uplo), 0, unit);
    if (unit) {
      const View ones = identity(ds(0, p.size), ds(0, p.size));
      k.tensor_tensor({.dst = block, .data1 = block, .data2 = ones, .op = AluOp::add});
    }
    blocks.push_back(block);
  }
  return blocks;
}

void PanelLoops::add(const View& sum, const Source& l, const Piece& panel, std::int64_t first, std::int64_t last,
                     const Parts& b) const {
  const auto part = [&](const Index& row, std::int64_t rows, const Index& tile) {
    const View chunk = chunk_tile(k_, rows, panel.size, f32);
    load_chunk(k_, chunk, l, row, rows, panel.start, panel.size);
    const Parts pieces = parts_of_chunk(k_, chunk, rows, precision_);
    const auto step = [&](const Index& t, std::int64_t height) {
      const auto at = [&](const Parts& whole, const Index& i) {
        Parts tiles;
        for (const View& part : whole) tiles.push_back(part(ds(0, height), i));
        return tiles;
      };
      multiply(sum, at(pieces, t), at(b, tile + t));
    };
    if (rows / kTile > 0) k_.loop(rows / kTile, [&](Index t) { step(t, kTile); });
    if (rows % kTile) step(rows / kTile, rows % kTile);
  };
  for (std::int64_t row = first; row < last; row += kLoadTiles * kTile)
    part(row, std::min(kLoadTiles * kTile, last - row), row / kTile);
}

Parts panel_of(const Parts& block, std::size_t panel, std::int64_t rows) {
  Parts parts;
  for (const View& part : block) parts.push_back(part(ds(0, rows), static_cast<std::int64_t>(panel)));
  return parts;
}

}  // namespace kiln::kernels
