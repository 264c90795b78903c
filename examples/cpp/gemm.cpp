// Tiled matrix product: c[M, N] = a_t[K, M]ᵀ · b[K, N], any M, K, N. One PSUM tile per block of c,
// accumulated over K.
#include "programs.h"

namespace kiln::examples {
using namespace isa;

Program gemm(std::int64_t M, std::int64_t K, std::int64_t N, DType dtype, Target target) {
  Kernel k("gemm", target);
  const View a = k.input("a_t", {K, M}, dtype);
  const View b = k.input("b", {K, N}, dtype);
  const View c = k.output("c", {M, N}, DType::float32);
  k.tiles(N, 512, [&](Index n0, std::int64_t n) {
    k.tiles(M, 128, [&](Index m0, std::int64_t m) {
      const View sum = k.psum({m, n}, DType::float32);
      // The first product overwrites the tile, the others add to it: accumulate is left to the instruction.
      k.tiles(K, 128, [&](Index k0, std::int64_t rows) {
        const View stationary = k.sbuf({rows, m}, dtype), moving = k.sbuf({rows, n}, dtype);
        k.dma_copy({.dst = stationary, .src = a(ds(k0, rows), ds(m0, m))});
        k.dma_copy({.dst = moving, .src = b(ds(k0, rows), ds(n0, n))});
        k.nc_matmul({.dst = sum, .stationary = stationary, .moving = moving});
      });
      const View out = k.sbuf({m, n}, DType::float32);
      k.tensor_copy({.dst = out, .src = sum});
      k.dma_copy({.dst = c(ds(m0, m), ds(n0, n)), .src = out});
    });
  });
  return k.finish();
}

}  // namespace kiln::examples
