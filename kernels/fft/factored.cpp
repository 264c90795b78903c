#include "kernels/fft/factored.h"

#include "kernels/blas/product_block.h"
#include "kernels/fft/column_pass.h"
#include "kernels/fft/core_share.h"
#include "kernels/fft/turn_pairs.h"

namespace kiln::kernels {
using namespace isa;

namespace {

bool has_pass(const Factored& f) { return f.way.n0 > 1; }

// Four factors are three for each row of a first pass.
ColumnPassConfig outermost(const Factored& f) {
  return {f.way.n3, f.way.n0 * f.way.n1 * f.way.n2, f.positive, f.prefix + "outer_", Spectrum::whole, f.precision};
}

TwoFactorConfig inner(const Factored& f) {
  return {.n1 = f.way.n1,
          .n2 = f.way.n2,
          .positive = f.positive,
          .scale = f.scale,
          .by_columns = has_pass(f),
          .prefix = f.prefix,
          .rows = f.rows * f.way.n0 * f.way.n3,
          .precision = f.precision};
}

ColumnPassConfig outer(const Factored& f) {
  return {f.way.n0, f.way.n1 * f.way.n2, f.positive, f.prefix, Spectrum::whole, f.precision};
}

void four(Kernel& k, Factored f, const View& x, const View& y) {
  const ColumnPassConfig pass = outermost(f);
  const auto scratch = [&] { return k.hbm({x.dim(0) * pass.n0, 2 * pass.m}, DType::float32); };
  const View between = scratch(), results = scratch();
  ColumnPass(k, pass).run(x, between);
  f.way.n3 = 1;
  factored(k, f, between, results);
  k.loop(x.dim(0), [&](Index i) {
    turn_pairs(k, results(ds(i * pass.n0, pass.n0)),
               y(ds(i, 1)).reshape_dim(1, {pass.m, 2 * pass.n0}).flatten_dims(0, 1));
  });
}

}  // namespace

Tables factored_tables(const Factored& f) {
  Tables tables = two_factor_tables(inner(f));
  const auto add = [&](const ColumnPassConfig& pass) {
    for (Table& t : column_pass_tables(pass)) tables.push_back(std::move(t));
  };
  if (has_pass(f)) add(outer(f));
  if (f.way.n3 > 1) add(outermost(f));
  return tables;
}

void factored_on_core(Kernel& k, const Factored& f, const View& x, const View& y, int core) {
  const TwoFactor rows(k, inner(f));
  if (!has_pass(f)) return rows.run(x, y, rows.piece_of_core(core));
  const std::int64_t n0 = f.way.n0, m = f.way.n1 * f.way.n2;
  const View between = shared_tensor(k, f.prefix + "between", {n0, 2 * m});
  const Piece columns = share_of(m, core), mine = share_of(n0, core);
  ColumnPass(k, outer(f)).run(x, between, columns.start, columns.size);
  meet(k, between);
  const View results = y.reshape_dim(1, {m, 2 * n0}).flatten_dims(0, 1);
  rows.run(between(ds(mine.start, mine.size)), results(all, ds(2 * mine.start, 2 * mine.size)));
}

void factored(Kernel& k, const Factored& f, const View& x, const View& y) {
  if (f.way.n3 > 1) return four(k, f, x, y);
  const TwoFactor rows(k, inner(f));
  if (!has_pass(f)) return rows.run(x, y);
  const std::int64_t n0 = f.way.n0, m = f.way.n1 * f.way.n2;
  const View between = k.hbm({x.dim(0) * n0, 2 * m}, DType::float32);
  ColumnPass(k, outer(f)).run(x, between);
  k.loop(x.dim(0), [&](Index i) {
    rows.run(between(ds(i * n0, n0)), y(ds(i, 1)).reshape_dim(1, {m, 2 * n0}).flatten_dims(0, 1));
  });
}

}  // namespace kiln::kernels
