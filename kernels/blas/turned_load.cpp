#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

namespace {

// What passes the tensor engine unchanged.
DType unit_of(const Kernel& k, DType dtype) {
  return arch(k.program().target).features.tensor_transpose_mode ? dtype : DType::uint16;
}

// Rows of the matrix as they lie, [up to 128, width], one for each piece of X.
std::vector<View> load_rows(Kernel& k, const View& matrix, const Index& first, std::int64_t width, const Index& x0,
                            std::int64_t x) {
  std::vector<View> pieces;
  const std::int64_t whole = x / kTile, rest = x % kTile;
  if (whole > 0) {
    const View tile = k.sbuf({kTile, whole, width}, matrix.dtype());
    const View src = matrix(ds(x0, whole * kTile), ds(first, width)).reshape_dim(0, {whole, kTile}).permute({1, 0, 2});
    k.dma_copy({.dst = tile, .src = src});
    for (std::int64_t i = 0; i < whole; ++i) pieces.push_back(tile.select(1, i));
  }
  if (rest > 0) {
    const View tile = k.sbuf({rest, width}, matrix.dtype());
    k.dma_copy({.dst = tile, .src = matrix(ds(x0 + whole * kTile, rest), ds(first, width))});
    pieces.push_back(tile);
  }
  return pieces;
}

}  // namespace

bool turns_on_tensor_engine(const Arch& arch) { return arch.dma.transpose_rate_hbm < 0.5; }

void load_turned(Kernel& k, const std::vector<View>& to, const View& matrix, const Index& k0, std::int64_t rows,
                 const Index& x0, std::int64_t x) {
  const std::int64_t parts = static_cast<std::int64_t>(to.size());
  const std::vector<View> pieces = load_rows(k, matrix, k0 * parts, rows * parts, x0, x);
  const DType unit = unit_of(k, matrix.dtype());
  const std::int64_t halves = size_bytes(matrix.dtype()) / size_bytes(unit), step = halves * parts;
  std::size_t turns = 0;
  for (const Piece& depth : whole_pieces(rows, kTile)) {
    for (const Piece& group : whole_pieces(x, kWide)) {
      for (std::int64_t h = 0; h < step; ++h) {
        const View bank = k.psum({depth.size, group.size}, unit);
        for (const Piece& p : whole_pieces(group.size, kTile)) {
          const View from = pieces[(group.start + p.start) / kTile].view(unit);
          k.nc_transpose(
              {.dst = bank(all, ds(p.start, p.size)), .data = from(all, ds(step * depth.start + h, depth.size, step))});
        }
        const View tile = to[h / halves](ds(0, depth.size), depth.start / kTile).view(unit);
        evict(k, tile(all, ds(halves * group.start + h % halves, group.size, halves)), bank, turns++);
      }
    }
  }
}

void turn(Kernel& k, const View& to, const View& data) {
  const DType unit = unit_of(k, data.dtype());
  const std::int64_t halves = size_bytes(data.dtype()) / size_bytes(unit);
  for (std::int64_t h = 0; h < halves; ++h) {
    const View bank = k.psum({to.dim(0), to.dim(1)}, unit);
    k.nc_transpose({.dst = bank, .data = data.view(unit)(all, ds(h, data.dim(1), halves))});
    evict(k, to.view(unit)(all, ds(h, to.dim(1), halves)), bank, static_cast<std::size_t>(h));
  }
}

}  // namespace kiln::kernels
