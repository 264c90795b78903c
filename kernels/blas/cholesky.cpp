#include "kernels/blas/cholesky.h"

#include <algorithm>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/blas/split.h"
#include "kernels/blas/triangular_inverse.h"
#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kLoadTiles = 4;  // of a panel that streams by

// Row by row of blocks, U with a = uᵀ u: what the rows above leave of a, the factor of the diagonal block, and its
// inverse times the rest of the row. U waits in HBM for the rows below.
class Cholesky {
 public:
  Cholesky(Kernel& k, std::int64_t n, Uplo uplo, Precision precision)
      : k_(k),
        n_(n),
        precision_(precision),
        upper_(uplo == Uplo::upper),
        a_(k.input("a", {n, n}, f32)),
        out_(k.output("l", {n, n}, f32)),
        u_(k.hbm({n, n}, f32)),
        invert_(k, n > kTile ? kTile : 0) {}

  void run() {
    const std::int64_t block = std::min(n_, kTile);
    const View ones = k_.sbuf({block, block}, f32);
    below_ = k_.sbuf({block, block}, f32);
    k_.memset({.dst = ones, .value = 1.0});
    keep_triangle(k_, below_, ones, Uplo::lower, 0, true);
    if (n_ > kTile) {
      zero_ = k_.sbuf({kTile, std::min(n_, kCleared)}, f32);
      k_.memset({.dst = zero_, .value = 0.0});
    }
    for (const Piece& p : whole_pieces(n_, kTile)) row(p);
  }

 private:
  static constexpr std::int64_t kCleared = 4096;

  void row(const Piece& p) {
    // Columns of U above the diagonal block: the stationary operands of everything in this row.
    Parts above;
    if (p.start > 0) {
      const View chunk = chunk_tile(k_, p.start, p.size, f32);
      load_chunk(k_, chunk, {u_, true}, 0, p.start, p.start, p.size);
      above = parts_of_chunk(k_, chunk, p.start, precision_);
    }
    const View upper = factor(rest(symmetric_block(k_, a_, p.start, p.size, uplo()), above, p, p.start));
    const View lower = transposed(upper);
    store(p, p.start, upper, lower);
    const std::int64_t beside = p.start + p.size;
    if (beside < n_) {
      const View diagonal = diagonal_of(lower), inverse = invert_.transposed_inverse(lower, Uplo::lower, &diagonal);
      tiles_from(k_, beside, n_, kWide,
                 [&](Index c0, std::int64_t width) { solve(p, inverse, upper, above, c0, width); });
    }
    tiles_from(k_, upper_ ? 0 : beside, upper_ ? p.start : n_, kCleared, [&](Index c0, std::int64_t width) {
      k_.dma_copy({.dst = out_(ds(p.start, p.size), ds(c0, width)), .src = zero_(ds(0, p.size), ds(0, width))});
    });
  }

  Uplo uplo() const { return upper_ ? Uplo::upper : Uplo::lower; }

  // a minus the products of the rows of U above.
  View rest(const View& a, const Parts& above, const Piece& p, const Index& c0) {
    if (p.start == 0) return a;
    const std::int64_t width = a.dim(1);
    const View sum = k_.psum({p.size, width}, f32), left = k_.sbuf({p.size, width}, f32);
    k_.tiles(p.start / kTile, kLoadTiles, [&](Index first, std::int64_t count) {
      const View chunk = chunk_tile(k_, count * kTile, width, f32);
      load_chunk(k_, chunk, {u_, true}, first * kTile, count * kTile, c0, width);
      const Parts parts = parts_of_chunk(k_, chunk, count * kTile, precision_);
      const auto at = [](const Parts& of, const Index& t) {
        Parts tiles;
        for (const View& part : of) tiles.push_back(part.select(1, t));
        return tiles;
      };
      k_.loop(count, [&](Index t) { add_products(k_, sum, at(above, first + t), at(parts, t), precision_); });
    });
    k_.tensor_tensor({.dst = left, .data1 = a, .data2 = sum, .op = AluOp::subtract});
    return left;
  }

  // The upper factor of a block: row by row, an outer product of the row with itself is taken from the rows below. Only
  // rows are read, as both factors of the product: the columns beside them differ by roundings, which would grow with
  // the condition of the block.
  View factor(const View& block) {
    const std::int64_t n = block.dim(0);
    const View left = k_.sbuf({n, n}, f32), below = below_(ds(0, n), ds(0, n));
    k_.tensor_copy({.dst = left, .src = block});
    k_.loop(n, [&](Index c) {
      // Row c on all partitions, by ones where the identity has them in column c, and as a column.
      const View unit = invert_.identity()(ds(0, n), ds(c, 1)), row = k_.psum({n, n}, f32);
      const View column = k_.psum({n, 1}, f32), factor = k_.sbuf({n, 1}, f32);
      k_.nc_matmul({.dst = row, .stationary = unit.broadcast(1, n), .moving = left});
      k_.nc_matmul({.dst = column, .stationary = left, .moving = unit});
      k_.reciprocal({.dst = factor, .data = row(all, ds(c, 1))});
      k_.tensor_scalar({.dst = factor,
                        .data = column,
                        .op0 = AluOp::multiply,
                        .operand0 = factor,
                        .op1 = AluOp::multiply,
                        .operand1 = below(all, ds(c, 1)),
                        .engine = Engine::vector});
      k_.scalar_tensor_tensor({.dst = left,
                               .data = row,
                               .op0 = AluOp::multiply,
                               .operand0 = factor,
                               .op1 = AluOp::subtract,
                               .operand1 = left,
                               .reverse1 = true});
    });
    // Rows over the roots of their pivots.
    const View root = diagonal_of(left), scaled = k_.sbuf({n, n}, f32), upper = k_.sbuf({n, n}, f32);
    k_.activation({.dst = root, .op = ActFn::sqrt, .data = root});
    k_.reciprocal({.dst = root, .data = root});
    k_.tensor_scalar({.dst = scaled, .data = left, .op0 = AluOp::multiply, .operand0 = root});
    keep_triangle(k_, upper, scaled, Uplo::upper);
    return upper;
  }

  View diagonal_of(const View& tile) {
    const View ones = invert_.identity()(ds(0, tile.dim(0)), ds(0, tile.dim(0)));
    const View masked = k_.sbuf(tile.shape(), f32), diagonal = k_.sbuf({tile.dim(0), 1}, f32);
    k_.tensor_tensor({.dst = masked, .data1 = tile, .data2 = ones, .op = AluOp::multiply});
    k_.tensor_reduce({.dst = diagonal, .op = AluOp::add, .data = masked, .axis = {1}});
    return diagonal;
  }

  View transposed(const View& tile) {
    const View copy = k_.sbuf({tile.dim(1), tile.dim(0)}, f32);
    turn(k_, copy, tile);
    return copy;
  }

  // A piece of U, [rows of p, width], and its transpose where there is one already.
  void store(const Piece& p, const Index& c0, const View& u, const View& u_t) {
    k_.dma_copy({.dst = u_(ds(p.start, p.size), ds(c0, u.dim(1))), .src = u});
    if (upper_)
      k_.dma_copy({.dst = out_(ds(p.start, p.size), ds(c0, u.dim(1))), .src = u});
    else
      k_.dma_copy({.dst = out_(ds(c0, u.dim(1)), ds(p.start, p.size)), .src = u_t});
  }

  // A piece of U beside its diagonal block: the inverse of that times the rest, and a step of refinement, as in trsm.
  void solve(const Piece& p, const View& inverse, const View& diagonal, const Parts& above, const Index& c0,
             std::int64_t width) {
    const View loaded = chunk_tile(k_, p.size, width, f32);
    load_chunk(k_, loaded, {a_, upper_}, p.start, p.size, c0, width);
    const View left = rest(loaded(ds(0, p.size), 0), above, p, c0);
    const auto times = [&](const View& stationary, const View& y) {
      const View product = k_.psum({p.size, width}, f32);
      k_.nc_matmul({.dst = product, .stationary = stationary, .moving = y});
      return product;
    };
    const auto combine = [&](const View& x, const View& product, AluOp op) {
      const View to = k_.sbuf({p.size, width}, f32);
      k_.tensor_tensor({.dst = to, .data1 = x, .data2 = product, .op = op, .engine = Engine::vector});
      return to;
    };
    const View first = k_.sbuf({p.size, width}, f32);
    evict(k_, first, times(inverse, left), 1);
    const View residual = combine(left, times(diagonal, first), AluOp::subtract);
    const View u = combine(first, times(inverse, residual), AluOp::add);
    for (const Piece& c : upper_ ? std::vector<Piece>{{0, width}} : whole_pieces(width, kTile)) {
      const View part = u(all, ds(c.start, c.size));
      store(p, c0 + c.start, part, upper_ ? View() : transposed(part));
    }
  }

  Kernel& k_;
  std::int64_t n_;
  Precision precision_;
  bool upper_;
  View a_, out_, u_, zero_;
  View below_;  // ones below the diagonal
  TriangularInverse invert_;
};

}  // namespace

Program cholesky(std::int64_t n, Uplo uplo, Target target, Precision precision) {
  require_sizes("cholesky", {n});
  Kernel k("cholesky", target);
  Cholesky(k, n, uplo, precision).run();
  return k.finish();
}

}  // namespace kiln::kernels
