#include "kernels/blas/symm.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/epilogue.h"
#include "kernels/blas/panel_loops.h"

namespace kiln::kernels {
using namespace isa;

Program symm(const SymmConfig& c, Target target) {
  require_sizes("symm", {c.m, c.n});
  require_alpha("symm", c.alpha);
  Kernel k("symm", target);
  const std::int64_t size = c.side == Side::left ? c.m : c.n;
  const Epilogue epilogue(k, c.alpha, c.beta);
  const View a = k.input("a", {size, size}, f32), b = k.input("b", {c.m, c.n}, f32);
  View from;
  if (epilogue.reads_c()) from = k.input("c_in", {c.m, c.n}, f32);
  const View out = k.output("c", {c.m, c.n}, f32);
  const PanelLoops loops(k, c.side, b, out, c.precision);
  std::vector<Parts> diagonal;
  for (const Piece& p : loops.panels())
    diagonal.push_back(loops.tile_parts(symmetric_block(k, a, p.start, p.size, c.uplo)));
  loops.blocks([&](Index r0, std::int64_t width) {
    const Parts block = loops.parts(loops.load(b, r0, width));
    for (std::size_t i = 0; i < loops.panels().size(); ++i) {
      const Piece& p = loops.panels()[i];
      const View sum = k.psum({p.size, width}, f32), result = k.sbuf({p.size, width}, f32);
      loops.multiply(sum, diagonal[i], panel_of(block, i, p.size));
      // Rows of a on the used side of the diagonal, columns of a (rows of aᵀ) on the other.
      loops.add(sum, {a, c.uplo == Uplo::upper}, p, 0, p.start, block);
      loops.add(sum, {a, c.uplo == Uplo::lower}, p, p.start + p.size, size, block);
      const View old = epilogue.reads_c() ? loops.load(from, p, r0, width) : View();
      epilogue.apply(result, sum, old, i);
      loops.store(p, r0, result);
    }
  });
  return k.finish();
}

}  // namespace kiln::kernels
