#include "kernels/blas/trmm.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/epilogue.h"
#include "kernels/blas/panel_loops.h"

namespace kiln::kernels {
using namespace isa;

Program trmm(const TriangularConfig& c, Target target) {
  require_sizes("trmm", {c.m, c.n});
  require_alpha("trmm", c.alpha);
  Kernel k("trmm", target);
  const std::int64_t size = c.side == Side::left ? c.m : c.n;
  const Epilogue epilogue(k, c.alpha, Scalar::zero);
  const View a = k.input("a", {size, size}, f32), b = k.input("b", {c.m, c.n}, f32);
  const View out = k.output("c", {c.m, c.n}, f32);
  const PanelLoops loops(k, c.side, b, out, c.precision);
  // b op(a) is op(a)ᵀ bᵀ, transposed.
  const bool trans = c.trans != (c.side == Side::right), lower = (c.uplo == Uplo::lower) != trans;
  const Source l{a, trans};
  std::vector<Parts> diagonal;
  for (const View& d : loops.diagonal_blocks(l, lower ? Uplo::lower : Uplo::upper, c.diag == Diag::unit))
    diagonal.push_back(loops.tile_parts(d));
  loops.blocks([&](Index r0, std::int64_t width) {
    const Parts block = loops.parts(loops.load(b, r0, width));
    for (std::size_t i = 0; i < loops.panels().size(); ++i) {
      const Piece& p = loops.panels()[i];
      const View sum = k.psum({p.size, width}, f32), result = k.sbuf({p.size, width}, f32);
      loops.multiply(sum, diagonal[i], panel_of(block, i, p.size));
      loops.add(sum, l, p, lower ? 0 : p.start + p.size, lower ? p.start : size, block);
      epilogue.apply(result, sum, {}, i);
      loops.store(p, r0, result);
    }
  });
  return k.finish();
}

}  // namespace kiln::kernels
