#include "programs.h"

namespace kiln::examples {
using namespace isa;

Program complex_gemm(std::int64_t M, std::int64_t K, std::int64_t N, Target target) {
  constexpr DType f32 = DType::float32;
  Kernel k("complex_gemm", target);
  const View a_re = k.input("a_re", {K, M}, f32), a_im = k.input("a_im", {K, M}, f32);
  const View b_re = k.input("b_re", {K, N}, f32), b_im = k.input("b_im", {K, N}, f32);
  const View c_re = k.output("c_re", {M, N}, f32), c_im = k.output("c_im", {M, N}, f32);
  k.tiles(N, 512, [&](Index n0, std::int64_t n) {
    k.tiles(M, 128, [&](Index m0, std::int64_t m) {
      const View re = k.psum({m, n}, f32), im = k.psum({m, n}, f32);
      k.tiles(K, 128, [&](Index k0, std::int64_t rows) {
        const auto load = [&](const View& from, Index c0, std::int64_t columns) {
          const View t = k.sbuf({rows, columns}, f32);
          k.dma_copy({.dst = t, .src = from(ds(k0, rows), ds(c0, columns))});
          return t;
        };
        const View ar = load(a_re, m0, m), ai = load(a_im, m0, m), br = load(b_re, n0, n), bi = load(b_im, n0, n);
        const View minus_ai = k.sbuf({rows, m}, f32);
        k.tensor_scalar({.dst = minus_ai, .data = ai, .op0 = AluOp::multiply, .operand0 = -1.0});
        // Both sums of a part land in the same PSUM tile: re = ar br - ai bi, im = ar bi + ai br.
        k.nc_matmul({.dst = re, .stationary = ar, .moving = br});
        k.nc_matmul({.dst = re, .stationary = minus_ai, .moving = bi});
        k.nc_matmul({.dst = im, .stationary = ar, .moving = bi});
        k.nc_matmul({.dst = im, .stationary = ai, .moving = br});
      });
      const auto store = [&](const View& sum, const View& to) {
        const View t = k.sbuf({m, n}, f32);
        k.tensor_copy({.dst = t, .src = sum});
        k.dma_copy({.dst = to(ds(m0, m), ds(n0, n)), .src = t});
      };
      store(re, c_re);
      store(im, c_im);
    });
  });
  return k.finish();
}

}  // namespace kiln::examples
