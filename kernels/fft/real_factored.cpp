#include "kernels/fft/real_factored.h"

#include "kernels/blas/dtypes.h"
#include "kernels/fft/column_pass.h"
#include "kernels/fft/core_share.h"

namespace kiln::kernels {
using namespace isa;

namespace {

ColumnPassConfig columns_of(const RealFactored& f) {
  return {f.way.n0, f.way.n1 * f.way.n2, f.positive, "", f.spectrum, f.precision};
}

TwoFactorConfig rows_of(const RealFactored& f) {
  const bool forward = f.spectrum == Spectrum::forward;
  return {.n1 = f.way.n1,
          .n2 = f.way.n2,
          .positive = f.positive || !forward,
          .scale = f.scale,
          .by_columns = forward,
          .folded = true,
          .rows = f.rows * columns_of(f).kept(),
          .precision = f.precision};
}

}  // namespace

bool is_possible(const RealFactored& f) { return f.way.n0 > 1 && is_possible(rows_of(f)); }

Tables real_factored_tables(const RealFactored& f) {
  Tables tables = two_factor_tables(rows_of(f));
  for (Table& t : column_pass_tables(columns_of(f))) tables.push_back(std::move(t));
  return tables;
}

void real_factored(Kernel& k, const RealFactored& f, const View& x, const View& y) {
  const TwoFactor rows(k, rows_of(f));
  const ColumnPassConfig columns = columns_of(f);
  const View between = k.hbm({x.dim(0) * columns.kept(), 2 * columns.m}, f32);
  const auto of = [&](const Index& i) { return between(ds(i * columns.kept(), columns.kept())); };
  const ColumnPass pass(k, columns);
  if (f.spectrum == Spectrum::forward) {
    pass.run(x, between);
    k.loop(x.dim(0), [&](Index i) { rows.run_to_folded(of(i), y, i, columns.n0); });
  } else {
    k.loop(x.dim(0), [&](Index i) { rows.run_from_folded(x, i, of(i), pass.twiddles(), columns.n0); });
    pass.run(between, y);
  }
}

void real_factored_on_core(Kernel& k, const RealFactored& f, const View& x, const View& y, int core) {
  const TwoFactor rows(k, rows_of(f));
  const ColumnPassConfig columns = columns_of(f);
  const ColumnPass pass(k, columns);
  const View between = shared_tensor(k, "between", {columns.kept(), 2 * columns.m});
  const Piece mine = share_of(columns.m, core);
  if (f.spectrum == Spectrum::forward) {
    pass.run(x, between, mine.start, mine.size);
    meet(k, between);
    rows.run_to_folded(between, y, 0, columns.n0, share_of(f.way.n1, core));
  } else {
    rows.run_from_folded(x, 0, between, pass.twiddles(), columns.n0, share_of(columns.kept(), core));
    meet(k, between);
    pass.run(between, y, mine.start, mine.size);
  }
}

}  // namespace kiln::kernels
