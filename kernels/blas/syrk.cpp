#include "kernels/blas/syrk.h"

#include <algorithm>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/epilogue.h"
#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kRows = 4 * kTile;     // of a block; its diagonal part takes four banks
constexpr std::int64_t kColumns = 2 * kWide;  // of a block beside the diagonal, where it may have all banks
constexpr std::int64_t kCleared = 4096;       // columns of the other triangle in a store
constexpr std::int64_t kMostChunkTiles = 4;

// Rows of blocks of the triangle, each from the panel of its rows. What is added up is a list of products, each of two
// sources (left, right) by their numbers: one for a aᵀ, two for a bᵀ + b aᵀ.
using Products = std::vector<std::pair<int, int>>;

class TriangleLoops {
 public:
  TriangleLoops(Kernel& k, const SyrkConfig& c, const Epilogue& epilogue, const std::vector<Source>& sources,
                const Products& products, const View& from, const View& to)
      : k_(k), c_(c), epilogue_(epilogue), sources_(sources), products_(products), from_(from), to_(to) {
    const Arch& chip = arch(k.program().target);
    const std::int64_t depth = tiles_of(c.k, kTile), size = size_bytes(c.dtype);
    const std::int64_t count = static_cast<std::int64_t>(sources.size());
    tiles_ = std::clamp<std::int64_t>(depth / 8, 1, kMostChunkTiles);
    const bool turns = !std::all_of(sources.begin(), sources.end(), [](const Source& s) { return s.k_first; });
    columns_ = turns && turns_on_tensor_engine(chip) ? kWide : kColumns;
    // Transposing loads of float32 go in pieces, so that the first product waits for one of them only; others are
    // short enough, or as slow to start as to move.
    piece_ = turns && !turns_on_tensor_engine(chip) && c.dtype == DType::float32 ? kTile : kRows;
    const std::int64_t others = (3 * count * tiles_ * kColumns + 8 * kColumns + kCleared) * size;
    const std::int64_t room = chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes - others;
    keeps_all_ = count * depth * c.n * size <= room;
    resident_ = keeps_all_ || 2 * count * depth * kRows * size <= room;
  }

  void run() {
    if (c_.n > kRows) {
      zero_ = k_.sbuf({kTile, std::min(kCleared, c_.n)}, c_.dtype);
      k_.memset({.dst = zero_, .value = 0.0});
    }
    for (std::size_t s = 0; keeps_all_ && s < sources_.size(); ++s)
      all_.push_back(chunk_tile(k_, c_.k, c_.n, c_.dtype));
    const bool lower = c_.uplo == Uplo::lower;
    std::vector<Piece> rows = whole_pieces(c_.n, kRows);
    if (!lower) std::reverse(rows.begin(), rows.end());  // so that what stands beside a block has been loaded before
    for (const Piece& p : rows) {
      const std::vector<View> panels = panels_of(p);
      diagonal(p.start, p.size, panels);
      tiles_from(k_, lower ? 0 : p.start + p.size, lower ? p.start : c_.n, columns_,
                 [&](Index n0, std::int64_t n) { beside(p.start, p.size, n0, n, panels); });
      tiles_from(k_, lower ? p.start + p.size : 0, lower ? c_.n : p.start, kCleared,
                 [&](Index n0, std::int64_t n) { clear(p.start, p.size, n0, n); });
    }
  }

 private:
  // Tiles for the rows of a block, all of K; none where they do not fit.
  std::vector<View> panels_of(const Piece& rows) {
    std::vector<View> panels;
    for (std::size_t s = 0; resident_ && s < sources_.size(); ++s)
      panels.push_back(keeps_all_ ? all_[s](all, all, ds(rows.start, rows.size))
                                  : chunk_tile(k_, c_.k, rows.size, c_.dtype));
    return panels;
  }

  // For each chunk of K: body(first row, first tile, rows).
  void chunks(const std::function<void(Index, Index, std::int64_t)>& body) {
    const std::int64_t chunk = tiles_ * kTile, whole = c_.k / chunk;
    if (whole > 0) k_.loop(whole, [&](Index i) { body(i * chunk, i * tiles_, chunk); });
    if (c_.k % chunk) body(whole * chunk, whole * tiles_, c_.k % chunk);
  }

  View load(const Source& from, const Index& k0, std::int64_t rows, const Index& x0, std::int64_t x) {
    const View chunk = chunk_tile(k_, rows, x, c_.dtype);
    load_chunk(k_, chunk, from, k0, rows, x0, x);
    return chunk;
  }

  // The block on the diagonal: tiles of it that touch the triangle.
  void diagonal(std::int64_t row, std::int64_t m, const std::vector<View>& panels) {
    const std::vector<Piece> rows = whole_pieces(m, kTile);
    std::vector<View> sums;
    for (const Piece& r : rows) sums.push_back(k_.psum({kTile, kWide}, DType::float32)(ds(0, r.size)));
    chunks([&](Index k0, Index tile, std::int64_t depth) {
      std::vector<View> parts;
      for (std::size_t s = 0; s < sources_.size(); ++s) {
        parts.push_back(resident_ ? panels[s](all, ds(tile, tiles_of(depth, kTile)))
                                  : chunk_tile(k_, depth, m, c_.dtype));
        for (const Piece& p : whole_pieces(m, piece_))
          load_chunk(k_, parts.back()(all, all, ds(p.start, p.size)), sources_[s], k0, depth, row + p.start, p.size);
      }
      const auto step = [&](const Index& t, std::int64_t height) {
        for (const auto& [l, r] : products_) {
          const View left = parts[l](ds(0, height), t), right = parts[r](ds(0, height), t);
          for (std::size_t r = 0; r < rows.size(); ++r) {
            const Piece c = columns(rows[r], m);
            k_.nc_matmul({.dst = sums[r](all, ds(c.start, c.size)),
                          .stationary = left(all, ds(rows[r].start, rows[r].size)),
                          .moving = right(all, ds(c.start, c.size))});
          }
        }
      };
      if (depth / kTile > 0) k_.loop(depth / kTile, [&](Index t) { step(t, kTile); });
      if (depth % kTile) step(depth / kTile, depth % kTile);
    });
    for (std::size_t r = 0; r < rows.size(); ++r) store_diagonal(row, m, rows[r], sums[r], r);
  }

  // Of a tile of rows, the columns of the block up to or from its diagonal tile.
  Piece columns(const Piece& row, std::int64_t m) const {
    return c_.uplo == Uplo::lower ? Piece{0, row.start + row.size} : Piece{row.start, m - row.start};
  }

  void store_diagonal(std::int64_t row, std::int64_t m, const Piece& r, const View& sum, std::size_t turn) {
    const Piece c = columns(r, m);
    const View out = k_.sbuf({r.size, m}, c_.dtype), used = out(all, ds(c.start, c.size));
    View old;
    if (epilogue_.reads_c()) {
      old = k_.sbuf({r.size, c.size}, c_.dtype);
      k_.dma_copy({.dst = old, .src = from_(ds(row + r.start, r.size), ds(row + c.start, c.size))});
    }
    if (c.size < m) k_.memset({.dst = out(all, ds(c.start == 0 ? c.size : 0, m - c.size)), .value = 0.0});
    epilogue_.apply(used, sum(all, ds(c.start, c.size)), old, turn);
    const View tile = out(all, ds(r.start, r.size));
    keep_triangle(k_, tile, tile, c_.uplo);
    k_.dma_copy({.dst = to_(ds(row + r.start, r.size), ds(row, m)), .src = out});
  }

  void beside(std::int64_t row, std::int64_t m, const Index& n0, std::int64_t n, const std::vector<View>& panels) {
    ProductBlock sums(k_, m, n);
    chunks([&](Index k0, Index tile, std::int64_t depth) {
      for (const auto& [l, r] : products_) {
        const View left =
            resident_ ? panels[l](all, ds(tile, tiles_of(depth, kTile))) : load(sources_[l], k0, depth, row, m);
        const View right = keeps_all_ ? all_[r](all, ds(tile, tiles_of(depth, kTile)), ds(n0, n))
                                      : load(sources_[r], k0, depth, n0, n);
        sums.add(left, right, depth);
      }
    });
    const auto part = [&](const View& c) { return c(ds(row, m), ds(n0, n)); };
    epilogue_.store(sums, part(to_), epilogue_.reads_c() ? part(from_) : View());
  }

  void clear(std::int64_t row, std::int64_t m, const Index& n0, std::int64_t n) {
    for (const auto& [start, size] : {Piece{0, m / kTile * kTile}, Piece{m / kTile * kTile, m % kTile}}) {
      if (size == 0) continue;
      const std::int64_t height = std::min(size, kTile), count = size / height;
      const View to = to_(ds(row + start, size), ds(n0, n)).reshape_dim(0, {count, height}).permute({1, 0, 2});
      k_.dma_copy({.dst = to, .src = zero_(ds(0, height), ds(0, n)).expand_dim(1).broadcast(1, count)});
    }
  }

  Kernel& k_;
  const SyrkConfig& c_;
  const Epilogue& epilogue_;
  std::vector<Source> sources_;
  Products products_;
  View from_, to_, zero_;
  std::int64_t tiles_ = 1, columns_ = kColumns;  // of K in a load; of a block
  std::int64_t piece_ = kRows;                   // rows of a block in a load
  bool keeps_all_ = false, resident_ = false;    // all of the operands in SBUF, or the panels of two rows
  std::vector<View> all_;
};

Shape shape_of(const SyrkConfig& c) { return c.trans ? Shape{c.k, c.n} : Shape{c.n, c.k}; }

// `b`: where a second matrix lies, or nothing.
Program update(const char* name, const SyrkConfig& c, const Shape& b, bool b_k_first, const Products& products,
               Target target) {
  require_sizes(name, {c.n, c.k});
  require_alpha(name, c.alpha);
  require_float(name, c.dtype);
  Kernel k(name, target);
  const Epilogue epilogue(k, c.alpha, c.beta);
  std::vector<Source> sources{{k.input("a", shape_of(c), c.dtype), c.trans}};
  if (!b.empty()) sources.push_back({k.input("b", b, c.dtype), b_k_first});
  View from;
  if (epilogue.reads_c()) from = k.input("c_in", {c.n, c.n}, c.dtype);
  const View to = k.output("c", {c.n, c.n}, c.dtype);
  TriangleLoops(k, c, epilogue, sources, products, from, to).run();
  return k.finish();
}

}  // namespace

Program syrk(const SyrkConfig& c, Target target) { return update("syrk", c, {}, false, {{0, 0}}, target); }

Program syr2k(const SyrkConfig& c, Target target) {
  return update("syr2k", c, shape_of(c), c.trans, {{0, 1}, {1, 0}}, target);
}

Program gemmtr(const SyrkConfig& c, bool trans_b, Target target) {
  return update("gemmtr", c, trans_b ? Shape{c.n, c.k} : Shape{c.k, c.n}, !trans_b, {{0, 1}}, target);
}

}  // namespace kiln::kernels
