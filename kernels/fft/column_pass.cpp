#include "kernels/fft/column_pass.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"

namespace kiln::kernels {
using namespace isa;

namespace {
View part(const View& x, int i) { return x(all, all, ds(i, 1)).squeeze_dim(2); }
}  // namespace

Tables column_pass_tables(const ColumnPassConfig& c) {
  Tables tables;
  const std::int64_t size = c.p() * c.n0, sign = c.positive ? 1 : -1;
  const char* names[] = {"column_cos", "column_sin", "column_minus_sin"};
  for (int which = 0; which < 3; ++which) {
    Table t(c.prefix + names[which], size, size);
    for (std::int64_t copy = 0; copy < c.p(); ++copy) {
      for (std::int64_t j = 0; j < c.n0; ++j) {
        for (std::int64_t k = 0; k < c.n0; ++k) {
          const Complex w = root(sign * product_mod(j, k, c.n0), c.n0);
          t(copy * c.n0 + j, copy * c.n0 + k) = static_cast<float>(which == 0   ? w.real()
                                                                   : which == 1 ? w.imag()
                                                                                : -w.imag());
        }
      }
    }
    tables.push_back(std::move(t));
  }
  Table twiddles(c.prefix + "column_twiddles", c.n0, 2 * c.m);
  for (std::int64_t k = 0; k < c.n0; ++k) {
    for (std::int64_t r = 0; r < c.m; ++r) {
      const Complex w = root(sign * product_mod(k, r, c.n0 * c.m), c.n0 * c.m);
      twiddles(k, 2 * r) = static_cast<float>(w.real()), twiddles(k, 2 * r + 1) = static_cast<float>(w.imag());
    }
  }
  tables.push_back(std::move(twiddles));
  return tables;
}

ColumnPass::ColumnPass(Kernel& k, const ColumnPassConfig& c) : k_(k), c_(c) {
  const std::int64_t size = c.p() * c.n0;
  cos_ = resident(k, c.prefix + "column_cos", size, size);
  sin_ = resident(k, c.prefix + "column_sin", size, size);
  minus_sin_ = resident(k, c.prefix + "column_minus_sin", size, size);
  twiddles_ = k.input(c.prefix + "column_twiddles", {c.n0, 2 * c.m}, f32);
}

void ColumnPass::run(const View& x, const View& s, std::int64_t column, std::int64_t columns) const {
  const View from = x.reshape_dim(1, {c_.n0, 2 * c_.m}).flatten_dims(0, 1);
  k_.tiles(x.dim(0), c_.p(), [&](Index row, std::int64_t rows) {
    const auto some = [&](const View& v) { return v(ds(row * c_.n0, rows * c_.n0)); };
    tiles_from(k_, column, column + columns, kWide,
               [&](Index first, std::int64_t width) { chunk(some(from), some(s), first, width); });
  });
}

void ColumnPass::chunk(const View& x, const View& s, const Index& first, std::int64_t width) const {
  const std::int64_t rows = x.dim(0);
  const Slice columns = ds(first * 2, 2 * width);
  const auto tile = [&] { return k_.sbuf({rows, width, 2}, f32); };
  const View in = tile(), out = tile(), w = tile();
  k_.dma_copy({.dst = in.flatten_dims(1, 2), .src = x(all, columns)});
  for (std::int64_t row = 0; row < rows; row += c_.n0)
    k_.dma_copy({.dst = w(ds(row, c_.n0)).flatten_dims(1, 2), .src = twiddles_(all, columns)});
  const auto product = [&](const View& with_re, const View& with_im) {
    const View sum = k_.psum({kTile, kWide}, f32)(ds(0, rows), ds(0, width));
    const Slice used = ds(0, rows);
    k_.nc_matmul({.dst = sum, .stationary = with_re(used, used), .moving = part(in, 0)});
    k_.nc_matmul({.dst = sum, .stationary = with_im(used, used), .moving = part(in, 1)});
    return sum;
  };
  const View re = product(cos_, minus_sin_), im = product(sin_, cos_);
  const auto times = [&](const View& a, int i) {
    const View to = k_.sbuf({rows, width}, f32);
    k_.tensor_tensor({.dst = to, .data1 = a, .data2 = part(w, i), .op = AluOp::multiply, .engine = Engine::vector});
    return to;
  };
  const auto join = [&](int i, const View& a, const View& b, AluOp op) {
    k_.tensor_tensor({.dst = part(out, i), .data1 = a, .data2 = b, .op = op, .engine = Engine::gpsimd});
  };
  join(0, times(re, 0), times(im, 1), AluOp::subtract);
  join(1, times(re, 1), times(im, 0), AluOp::add);
  k_.dma_copy({.dst = s(all, columns), .src = out.flatten_dims(1, 2)});
}

}  // namespace kiln::kernels
