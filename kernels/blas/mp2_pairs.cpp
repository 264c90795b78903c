#include "kernels/blas/mp2_pairs.h"

#include "kernels/blas/dtypes.h"

#include <algorithm>

namespace kiln::kernels {
using namespace isa;

namespace {
constexpr std::int64_t kTurnedTogether = kWide / kTile;  // tiles in a bank of PSUM
}  // namespace

Mp2Pairs::Mp2Pairs(Kernel& k, const View& eps_vir, std::int64_t panels, std::int64_t auxiliary)
    : k_(k), terms_(k, eps_vir), virtuals_(eps_vir.dim(1)), whole_(auxiliary / kTile), rest_(auxiliary % kTile) {
  const std::int64_t tiles = tiles_of(auxiliary, kTile);
  memory_ = k.hbm({panels, kTile, tiles, virtuals_}, f32);
  const Arch& chip = arch(k.program().target);
  constexpr std::int64_t kTilesOfTerms = 16;  // of at most 1024 columns, and orbital energies
  const std::int64_t others = kTilesOfTerms * std::min<std::int64_t>(virtuals_, 2 * kWide) * 4 + 4 * virtuals_ * 4;
  fits_ = 2 * tiles * virtuals_ * 4 + others <= chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes;
}

View Mp2Place::of(const View& panels) const {
  const View panel = panels(first);
  return moved ? panel.scalar_offset(*moved, panels.stride(0)) : panel;
}

void Mp2Pairs::turn_panels(const View& b, std::int64_t wrapped) {
  const std::int64_t n = b.dim(0);
  if (wrapped > 0) k_.fori_loop(0, wrapped, [&](Reg i) { turn_panel(Mp2Place{0, i}.of(b), {{0, i}, {n, i}}); });
  k_.fori_loop(0, n - wrapped, [&](Reg i) { turn_panel(Mp2Place{wrapped, i}.of(b), {{wrapped, i}}); });
}

void Mp2Pairs::turn_panel(const View& b, const std::vector<Mp2Place>& places) {
  const std::int64_t auxiliary = b.dim(1), tiles = tiles_of(auxiliary, kTile);
  for (const Mp2Strip& s : terms_.strips()) {
    const View rows = k_.sbuf({s.rows, auxiliary}, f32), turned = k_.sbuf({kTile, tiles, s.rows}, f32);
    k_.dma_copy({.dst = rows, .src = b(ds(s.start, s.rows))});
    std::size_t turn = 0;
    const auto group = [&](const Index& first, std::int64_t count, std::int64_t height) {
      const View bank = k_.psum({kTile, kTurnedTogether, kTile}, f32)(ds(0, height), ds(0, count), ds(0, s.rows));
      for (std::int64_t t = 0; t < count; ++t)
        k_.nc_transpose({.dst = bank(all, t), .data = rows(all, ds((first + t) * kTile, height))});
      evict(k_, turned(ds(0, height), ds(first, count)), bank, turn++);
    };
    k_.tiles(whole_, kTurnedTogether, [&](Index first, std::int64_t count) { group(first, count, kTile); });
    if (rest_ > 0) group(whole_, 1, rest_);
    for (const Mp2Place& place : places) {
      const View to = place.of(memory_)(all, all, ds(s.start, s.rows));
      if (whole_ > 0) k_.dma_copy({.dst = to(all, ds(0, whole_)), .src = turned(all, ds(0, whole_))});
      if (rest_ > 0) k_.dma_copy({.dst = to(ds(0, rest_), whole_), .src = turned(ds(0, rest_), whole_)});
    }
  }
}

Mp2Panel Mp2Pairs::panel(const Mp2Place& i) const {
  const View memory = i.of(memory_);
  if (!fits_) return {.memory = memory, .is_loaded = false};
  const View tile = k_.sbuf({kTile, memory.dim(1), virtuals_}, f32);
  if (whole_ > 0) k_.dma_copy({.dst = tile(all, ds(0, whole_)), .src = memory(all, ds(0, whole_))});
  if (rest_ > 0) k_.dma_copy({.dst = tile(ds(0, rest_), whole_), .src = memory(ds(0, rest_), whole_)});
  return {.tile = tile, .memory = memory, .is_loaded = true};
}

View Mp2Pairs::piece(const Mp2Panel& panel, const Index& tile, std::int64_t rows, std::int64_t start,
                     std::int64_t size) const {
  if (panel.is_loaded) return panel.tile(ds(0, rows), tile, ds(start, size));
  const View loaded = k_.sbuf({rows, size}, f32);
  k_.dma_copy({.dst = loaded, .src = panel.memory(ds(0, rows), tile, ds(start, size))});
  return loaded;
}

Mp2Pairs::Products Mp2Pairs::multiply(const Mp2Panel& b_i, const Mp2Panel& b_j, const Mp2Strip& strip,
                                      const Piece& columns) const {
  const std::int64_t diagonal = std::clamp<std::int64_t>(strip.rows - columns.start, 0, columns.size);
  const std::int64_t n = columns.size - diagonal, first = strip.start + columns.start;
  const auto banks = [&](std::int64_t size) {  // whole banks, so that a piece of 512 lies in one
    return k_.psum({kTile, tiles_of(size, kWide) * kWide}, f32)(ds(0, strip.rows), ds(0, size));
  };
  Products p{.x = banks(columns.size), .y = n > 0 ? banks(n) : View()};
  const auto add = [&](const View& to, const View& stationary, const View& moving) {
    for (const Piece& c : whole_pieces(to.dim(1), kWide))
      k_.nc_matmul(
          {.dst = to(all, ds(c.start, c.size)), .stationary = stationary, .moving = moving(all, ds(c.start, c.size))});
  };
  const auto step = [&](const Index& tile, std::int64_t rows) {
    add(p.x, piece(b_i, tile, rows, strip.start, strip.rows), piece(b_j, tile, rows, first, columns.size));
    if (n > 0) add(p.y, piece(b_j, tile, rows, strip.start, strip.rows), piece(b_i, tile, rows, first + diagonal, n));
  };
  if (whole_ > 0) k_.loop(whole_, [&](Index tile) { step(tile, kTile); });
  if (rest_ > 0) step(whole_, rest_);
  return p;
}

// T_ijba opposite of x, in SBUF.
View Mp2Pairs::opposite(const Mp2Strip& strip, const Piece& columns, const Products& p) const {
  const View y = k_.sbuf({strip.rows, columns.size}, f32);
  const std::int64_t diagonal = std::clamp<std::int64_t>(strip.rows - columns.start, 0, columns.size);
  if (diagonal > 0) {
    const View tile = k_.sbuf({diagonal, diagonal}, f32), turned = k_.psum({diagonal, diagonal}, f32);
    evict(k_, tile, p.x(all, ds(0, diagonal)), 1);
    k_.nc_transpose({.dst = turned, .data = tile});
    evict(k_, y(all, ds(0, diagonal)), turned, 1);
  }
  if (diagonal < columns.size) evict(k_, y(all, ds(diagonal, columns.size - diagonal)), p.y, 1);
  return y;
}

void Mp2Pairs::sum(const Mp2Panel& b_i, const Mp2Panel& b_j, const Mp2Terms::Occupied& base,
                   const Mp2Terms::Occupied& e_j, const View& to) const {
  const std::vector<Mp2Task> tasks = terms_.tasks();
  const View parts = k_.sbuf({kTile, static_cast<std::int64_t>(tasks.size())}, f32);
  k_.memset({.dst = parts, .value = 0.0});
  // The tensor engine turns a tile only when the next products are on their way, so it need not wait for the copy.
  std::vector<Products> products(tasks.size());
  const auto finish = [&](std::size_t i) {
    const View y = opposite(tasks[i].strip, tasks[i].columns, products[i]);
    terms_.sum(tasks[i].strip, tasks[i].columns, products[i].x, y, base, e_j,
               parts(all, ds(static_cast<std::int64_t>(i), 1)));
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    products[i] = multiply(b_i, b_j, tasks[i].strip, tasks[i].columns);
    if (i > 0) finish(i - 1);
  }
  finish(tasks.size() - 1);
  k_.tensor_reduce({.dst = to, .op = AluOp::add, .data = parts, .axis = {1}});
}

}  // namespace kiln::kernels
