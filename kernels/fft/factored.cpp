#include "kernels/fft/factored.h"

#include "kernels/blas/product_block.h"
#include "kernels/fft/core_share.h"
#include "kernels/fft/one_trip.h"
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
          .precision = f.precision,
          .filter = f.filter,
          .warm_up = has_pass(f) ? 0 : f.way.warm_up};
}

ColumnPassConfig outer(const Factored& f) {
  return {f.way.n0, f.way.n1 * f.way.n2, f.positive, f.prefix, Spectrum::whole, f.precision};
}

OneTrip in_one_trip(const Factored& f) { return {f.way, Spectrum::whole, f.positive, f.scale, f.prefix, f.precision}; }

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

TwoFactorConfig two_factors(const Factored& f) { return inner(f); }

Tables factored_tables(const Factored& f) {
  if (f.way.one_trip) return one_trip_tables(in_one_trip(f));
  Tables tables = two_factor_tables(inner(f));
  const auto add = [&](const ColumnPassConfig& pass) {
    for (Table& t : column_pass_tables(pass)) tables.push_back(std::move(t));
  };
  if (has_pass(f)) add(outer(f));
  if (f.way.n3 > 1) add(outermost(f));
  return tables;
}

void factored_on_core(Kernel& k, const Factored& f, const View& x, const View& y, int core) {
  if (f.way.one_trip) return one_trip_on_core(k, in_one_trip(f), x, y, core);
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

ThreeFactors::ThreeFactors(Kernel& k, const Factored& f)
    : k_(k), n0_(f.way.n0), m_(f.way.n1 * f.way.n2), rows_(k, inner(f)), pass_(k, outer(f)) {}

View ThreeFactors::columns(const View& x) const {
  const View between = k_.hbm({x.dim(0) * n0_, 2 * m_}, DType::float32);
  pass_.run(x, between);
  return between;
}

View ThreeFactors::columns_of_pairs(const View& x) const {
  const View between = k_.hbm({x.dim(0) / 2 * n0_, 2 * m_}, DType::float32);
  pass_.run_pairs(x, between);
  return between;
}

void ThreeFactors::run(const View& x, const View& y) const {
  const View between = columns(x);
  k_.loop(y.dim(0), [&](Index i) {
    rows_.run(between(ds(i * n0_, n0_)), y(ds(i, 1)).reshape_dim(1, {m_, 2 * n0_}).flatten_dims(0, 1));
  });
}

void ThreeFactors::row(const View& between, std::int64_t row, const View& y) const {
  rows_.run(between(ds(row * n0_, n0_)), y.reshape_dim(1, {m_, 2 * n0_}).flatten_dims(0, 1));
}

void ThreeFactors::row_to_pair(const View& between, std::int64_t row, const View& y) const {
  const auto part = [&](int i) { return y(ds(i, 1)).reshape_dim(1, {m_, n0_}).flatten_dims(0, 1); };
  rows_.run_to_planes(between(ds(row * n0_, n0_)), part(0), part(1));
}

void factored(Kernel& k, const Factored& f, const View& x, const View& y) {
  if (f.way.one_trip) return one_trip(k, in_one_trip(f), x, y);
  if (f.way.n3 > 1) return four(k, f, x, y);
  if (has_pass(f)) return ThreeFactors(k, f).run(x, y);
  TwoFactor(k, inner(f)).run(x, y);
}

}  // namespace kiln::kernels
