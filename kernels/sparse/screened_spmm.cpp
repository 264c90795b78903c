#include "kernels/sparse/screened_spmm.h"

#include <set>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/sparse/resident_rows.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kBlock = 4 * kWide;  // columns of the result at once: half of PSUM

class Screened {
 public:
  Screened(Kernel& k, const ScreenedSpmmConfig& c) : k_(k), c_(c), p_(c.pattern) {
    a_ = k.input("a", c.trans_a ? Shape{p_.columns, p_.rows} : Shape{p_.rows, p_.columns}, f32);
    row_bound_ = k.input("row_bound", {p_.rows}, f32);
    column_bound_ = k.input("column_bound", {p_.columns}, f32);
    const View limit = k.input("limit", {1, 1}, f32);
    b_ = k.input("b", {p_.columns, c.n}, f32);
    out_ = k.output("c", {p_.rows, c.n}, f32);
    limit_ = k.sbuf({kTile, 1}, f32);
    k.dma_copy({.dst = limit_, .src = limit.broadcast(0, kTile)});
  }

  void run() {
    const auto used = static_cast<std::int64_t>(std::set(p_.column.begin(), p_.column.end()).size());
    k_.tiles(c_.n, kBlock, [&](Index n0, std::int64_t n) {
      ResidentRows rows(k_, b_, n0, n, used);
      for (std::int64_t r = 0; r < p_.tile_rows(); ++r) multiply(r, rows, n0, n);
    });
  }

 private:
  // Of a tile, turned: [width, height], zero where the bounds say so.
  View kept(std::int64_t r, std::int64_t c, const View& row_bounds) const {
    const std::int64_t m = p_.height(r), n = p_.width(c);
    const View tile = chunk_tile(k_, n, m, f32);
    load_chunk(k_, tile, {a_, c_.trans_a}, c * kTile, n, r * kTile, m);
    const View bound = k_.sbuf({n, 1}, f32), passes = k_.sbuf({n, m}, DType::uint8), kept = k_.sbuf({n, m}, f32);
    k_.dma_copy({.dst = bound, .src = column_bound_(ds(c * kTile, n)).expand_dim(1)});
    k_.tensor_scalar({.dst = passes,
                      .data = row_bounds(ds(0, n)),
                      .op0 = AluOp::multiply,
                      .operand0 = bound,
                      .op1 = AluOp::greater,
                      .operand1 = limit_(ds(0, n))});
    k_.memset({.dst = kept, .value = 0.0, .engine = Engine::gpsimd});
    k_.tensor_copy_predicated({.dst = kept, .src = tile(ds(0, n), 0), .predicate = passes});
    return kept;
  }

  void multiply(std::int64_t r, ResidentRows& rows, const Index& n0, std::int64_t n) {
    const std::int64_t m = p_.height(r);
    const View out = k_.sbuf({m, n}, f32);
    if (p_.row_start[r] == p_.row_start[r + 1]) {
      k_.memset({.dst = out, .value = 0.0});
    } else {
      const View bounds = k_.sbuf({kTile, m}, f32);
      k_.dma_copy({.dst = bounds, .src = row_bound_(ds(r * kTile, m)).expand_dim(0).broadcast(0, kTile)});
      ProductBlock sums(k_, m, n);
      for (std::int64_t e = p_.row_start[r]; e < p_.row_start[r + 1]; ++e)
        sums.add_tile(kept(r, p_.column[e], bounds), rows.tile(p_.column[e]));
      for (std::size_t i = 0; i < sums.columns().size(); ++i) {
        const Piece& piece = sums.columns()[i];
        evict(k_, out(all, ds(piece.start, piece.size)), sums.sum(0, i), i);
      }
    }
    k_.dma_copy({.dst = out_(ds(r * kTile, m), ds(n0, n)), .src = out});
  }

  Kernel& k_;
  const ScreenedSpmmConfig& c_;
  const TilePattern& p_;
  View a_, row_bound_, column_bound_, limit_, b_, out_;
};

}  // namespace

Program screened_spmm(const ScreenedSpmmConfig& c, Target target) {
  require_pattern("screened_spmm", c.pattern);
  require_sizes("screened_spmm", {c.n});
  Kernel k("screened_spmm", target);
  Screened(k, c).run();
  return k.finish();
}

}  // namespace kiln::kernels
