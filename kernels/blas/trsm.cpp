#include "kernels/blas/trsm.h"

#include <algorithm>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/epilogue.h"
#include "kernels/blas/panel_loops.h"
#include "kernels/blas/triangular_inverse.h"

namespace kiln::kernels {
using namespace isa;

namespace {

class Trsm {
 public:
  Trsm(Kernel& k, const TriangularConfig& c, const View& a, const PanelLoops& loops, const View& b, const View& alpha)
      : k_(k),
        a_(a),
        loops_(loops),
        b_(b),
        alpha_(alpha),
        has_alpha_(c.alpha == Scalar::given),
        precision_(c.precision),
        unit_(c.diag == Diag::unit) {
    // x op(a) = b is op(a)ᵀ xᵀ = bᵀ.
    trans_ = c.trans != (c.side == Side::right);
    lower_ = (c.uplo == Uplo::lower) != trans_;
  }

  void run() {
    invert_diagonal();
    blocks_ = loops_.diagonal_blocks({a_, trans_}, lower_ ? Uplo::lower : Uplo::upper, unit_);
    loops_.blocks([&](Index r0, std::int64_t width) {
      const Parts x = solution(width);
      for (std::size_t i = 0; i < inverses_.size(); ++i) solve(lower_ ? i : inverses_.size() - 1 - i, x, r0, width);
    });
  }

 private:
  void invert_diagonal() {
    const std::int64_t size = loops_.size();
    const TriangularInverse invert(k_, std::min(size, kTile));
    for (const Piece& p : loops_.panels()) {
      const View tile = chunk_tile(k_, p.size, p.size, f32);
      load_chunk(k_, tile, {a_, !trans_}, p.start, p.size, p.start, p.size);
      View diagonal;
      if (!unit_) {
        diagonal = k_.sbuf({p.size, 1}, f32);
        k_.dma_copy({.dst = diagonal, .src = a_.ap({{size + 1, p.size}, {1, 1}}, p.start * (size + 1))});
      }
      inverses_.push_back(invert.transposed_inverse(tile(ds(0, p.size), 0), lower_ ? Uplo::lower : Uplo::upper,
                                                    unit_ ? nullptr : &diagonal));
    }
  }

  // x of a panel: the inverse of its diagonal block times what the panels before it leave of b. One step of refinement
  // follows, since a product with an inverse alone leaves a residual that grows with the condition of the block.
  void solve(std::size_t i, const Parts& x, const Index& r0, std::int64_t width) {
    const Piece& p = loops_.panels()[i];
    const View b = loops_.load(b_, p, r0, width), sum = k_.psum({p.size, width}, f32);
    const bool is_first = lower_ ? i == 0 : i + 1 == inverses_.size();
    if (!is_first) loops_.add(sum, {a_, trans_}, p, lower_ ? 0 : p.start + p.size, lower_ ? p.start : loops_.size(), x);
    const Parts place = panel_of(x, i, p.size);
    const bool splits = precision_ != Precision::native;
    const View first = k_.sbuf({p.size, width}, f32), result = splits ? k_.sbuf({p.size, width}, f32) : place[0];
    evict(k_, first, times_inverse(i, is_first ? scaled(b) : left_of(b, sum)), 1);
    k_.nc_matmul({.dst = sum, .stationary = blocks_[i], .moving = first, .accumulate = !is_first});
    const View correction = times_inverse(i, left_of(b, sum));
    k_.tensor_tensor({.dst = result, .data1 = first, .data2 = correction, .op = AluOp::add, .engine = Engine::vector});
    if (splits) split(k_, result, place);
    loops_.store(p, r0, result);
  }

  // x of all panels, as products take it.
  Parts solution(std::int64_t width) {
    Parts parts;
    for (int i = 0; i < parts_of(precision_); ++i)
      parts.push_back(chunk_tile(k_, loops_.size(), width, part_dtype(precision_, f32)));
    return parts;
  }

  View times_inverse(std::size_t i, const View& y) {
    const View product = k_.psum(y.shape(), f32);
    k_.nc_matmul({.dst = product, .stationary = inverses_[i], .moving = y});
    return product;
  }

  // alpha b
  View scaled(const View& b) {
    if (!has_alpha_) return b;
    const View y = k_.sbuf(b.shape(), f32);
    k_.tensor_scalar({.dst = y, .data = b, .op0 = AluOp::multiply, .operand0 = alpha_(ds(0, b.dim(0)), ds(0, 1))});
    return y;
  }

  // alpha b - sum
  View left_of(const View& b, const View& sum) {
    const View left = k_.sbuf(b.shape(), f32);
    if (has_alpha_)
      k_.scalar_tensor_tensor({.dst = left,
                               .data = b,
                               .op0 = AluOp::multiply,
                               .operand0 = alpha_(ds(0, b.dim(0)), ds(0, 1)),
                               .op1 = AluOp::subtract,
                               .operand1 = sum});
    else
      k_.tensor_tensor({.dst = left, .data1 = b, .data2 = sum, .op = AluOp::subtract, .engine = Engine::vector});
    return left;
  }

  Kernel& k_;
  View a_;
  const PanelLoops& loops_;
  View b_, alpha_;
  bool has_alpha_;
  Precision precision_;
  bool unit_, trans_ = false, lower_ = false;
  std::vector<View> inverses_, blocks_;  // of the diagonal, transposed
};

}  // namespace

Program trsm(const TriangularConfig& c, Target target) {
  require_sizes("trsm", {c.m, c.n});
  require_alpha("trsm", c.alpha);
  Kernel k("trsm", target);
  const std::int64_t size = c.side == Side::left ? c.m : c.n;
  const View a = k.input("a", {size, size}, f32), b = k.input("b", {c.m, c.n}, f32);
  View alpha;
  if (c.alpha == Scalar::given) {
    alpha = k.sbuf({kTile, 2}, f32);
    k.dma_copy({.dst = alpha, .src = k.input("scalars", {1, 2}, f32).broadcast(0, kTile)});
  }
  const View x = k.output("x", {c.m, c.n}, f32);
  const PanelLoops loops(k, c.side, b, x, c.precision);
  Trsm(k, c, a, loops, b, alpha).run();
  return k.finish();
}

}  // namespace kiln::kernels
