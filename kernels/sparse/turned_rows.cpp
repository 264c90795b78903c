#include "kernels/sparse/turned_rows.h"

#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

TurnedRows::TurnedRows(Kernel& k, std::vector<View> matrices, bool stays, bool is_awaited)
    : k_(k), matrices_(std::move(matrices)), stays_(stays), alone_(k, matrices_[0], stays, is_awaited) {}

View TurnedRows::turned(std::int64_t t, std::int64_t count) {
  if (matrices_.size() == 1) return alone_.turned(t, count);
  const std::int64_t all_tiles = tiles_of(matrices_[0].dim(0), kTile);
  if (!stays_ || both_.rank() == 0)
    both_ = chunk_tile(k_, kTile, (stays_ ? all_tiles : count) * kTile, matrices_[0].dtype());
  if (loaded_.empty()) loaded_.assign(all_tiles, false);
  const std::int64_t first = stays_ ? t : 0;
  for (std::int64_t i = 0; i < count;) {
    const Piece some = stays_ ? alone_.neighbours(t + i) : Piece{t, count};
    if (!stays_ || !loaded_[t + i]) load(both_(all, all, ds(stays_ ? some.start * kTile : 0, width(some))), some);
    for (std::int64_t j = some.start; j < some.start + some.size; ++j) loaded_[j] = true;
    i = some.start + some.size - t;
  }
  return both_(all, all, ds(first * kTile, width({t, count})));
}

void TurnedRows::load(const View& to, const Piece& tiles) const {
  const auto lanes = static_cast<std::int64_t>(matrices_.size());
  if (!turns_on_tensor_engine(arch(k_.program().target))) {
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      load_chunk(k_, to(ds(lane * kLane, kLane)), {matrices_[lane], false}, 0, kLane, tiles.start * kTile, to.dim(2));
    return;
  }
  for (std::int64_t i = 0; i < tiles.size; ++i) {
    const std::int64_t t = tiles.start + i;
    const View rows = k_.sbuf({height(t), lanes, kLane}, to.dtype());
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      k_.dma_copy({.dst = rows.select(1, lane), .src = matrices_[lane](ds(t * kTile, height(t)))});
    turn(k_, to(all, 0, ds(i * kTile, height(t))), rows.flatten_dims(1, 2));
  }
}

}  // namespace kiln::kernels
