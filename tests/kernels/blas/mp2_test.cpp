#include "kernels/blas/mp2.h"

#include "kernels/blas/mp2_double.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/blas/harness.h"

namespace kiln::kernels::test {
namespace {

struct Molecule {
  Molecule(Random& random, std::int64_t o, std::int64_t v, std::int64_t x) : o(o), v(v), x(x) {
    b = random.matrix(o * v, x);
    occ = Matrix(1, o), vir = Matrix(1, v);
    for (double& e : occ.values) e = static_cast<float>(-0.5 - std::abs(random.number()));
    for (double& e : vir.values) e = static_cast<float>(0.1 + std::abs(random.number()));
    t = product(b, transposed(b));
  }
  double amplitude(std::int64_t i, std::int64_t a, std::int64_t j, std::int64_t c) const {
    return t(i * v + a, j * v + c);
  }
  double pair(std::int64_t i, std::int64_t j) const {
    double e = 0;
    for (std::int64_t a = 0; a < v; ++a) {
      for (std::int64_t c = 0; c < v; ++c) {
        const double tab = amplitude(i, a, j, c), tba = amplitude(i, c, j, a);
        e += tab * (2 * tab - tba) / (occ(0, i) + occ(0, j) - vir(0, a) - vir(0, c));
      }
    }
    return e;
  }
  std::int64_t o, v, x;
  Matrix b, occ, vir, t;
};

double total(const Matrix& energy) { return energy.values[0] + energy.values[1]; }

TEST(Mp2, AllPairs) {
  Random random;
  const std::int64_t sizes[][3] = {
      {1, 3, 5}, {2, 130, 128}, {5, 40, 300}, {6, 257, 130}, {4, random.size(1, 300), random.size(1, 300)}};
  int turn = 0;
  for (const auto& [o, v, x] : sizes) {
    SCOPED_TRACE("o=" + std::to_string(o) + " v=" + std::to_string(v) + " x=" + std::to_string(x) + " seed " +
                 std::to_string(random.seed()));
    const Molecule m(random, o, v, x);
    double want = 0;
    for (std::int64_t i = 0; i < o; ++i) {
      for (std::int64_t j = 0; j < o; ++j) want += m.pair(i, j);
    }
    const Arrays out =
        run(mp2_energy(o, v, x, kTargets[turn++ % 3]), {{"b", m.b}, {"eps_occ", m.occ}, {"eps_vir", m.vir}});
    EXPECT_NEAR(total(out.at("energy")) / want, 1, 1e-6);
  }
}

TEST(Mp2, OnePair) {
  Random random;
  const Molecule m(random, 2, random.size(2, 300), random.size(2, 300));
  SCOPED_TRACE("seed " + std::to_string(random.seed()));
  Matrix b_i(m.v, m.x), b_j(m.v, m.x);
  std::copy_n(m.b.values.begin(), m.v * m.x, b_i.values.begin());
  std::copy_n(m.b.values.begin() + m.v * m.x, m.v * m.x, b_j.values.begin());
  const Arrays out =
      run(mp2_pair_energy(m.v, m.x, Target::trn1), {{"b_i", b_i}, {"b_j", b_j}, {"eps_ij", m.occ}, {"eps_vir", m.vir}});
  EXPECT_NEAR(total(out.at("energy")) / m.pair(0, 1), 1, 1e-6);
}

TEST(Mp2, AmplitudesInChunks) {
  Random random;
  const std::int64_t o = 3, chunk = 2;
  for (const std::int64_t v : {std::int64_t{9}, random.size(129, 300)}) {
    const Molecule m(random, o, v, 40);
    SCOPED_TRACE("v=" + std::to_string(v) + " seed " + std::to_string(random.seed()));
    Matrix t(chunk * v, o * v), eps(1, chunk);
    std::copy_n(m.t.values.begin(), t.values.size(), t.values.begin());
    std::copy_n(m.occ.values.begin(), chunk, eps.values.begin());
    double want = 0;
    for (std::int64_t i = 0; i < chunk; ++i) {
      for (std::int64_t j = 0; j < o; ++j) want += m.pair(i, j);
    }
    const Arrays out = run(mp2_reduce(chunk, o, v, Target::trn2),
                           {{"t", t}, {"eps_chunk", eps}, {"eps_occ", m.occ}, {"eps_vir", m.vir}});
    EXPECT_NEAR(total(out.at("energy")) / want, 1, 1e-6);
  }
  expect_legal([](Target target) { return mp2_reduce(64, 64, 448, target); });
}

TEST(Mp2, LegalEverywhere) {
  for (const auto& [o, v, x] : {std::tuple{16, 112, 384}, {64, 448, 1536}, {96, 672, 2304}, {7, 2000, 6001}})
    expect_legal([&](Target target) { return mp2_energy(o, v, x, target); });
}

TEST(Mp2Double, LegalEverywhere) {
  for (const auto& [o, v, x] : {std::tuple{1, 1, 1}, {5, 300, 200}, {64, 448, 1536}}) {
    expect_legal([&](Target t) { return mp2_energy_double(o, v, x, t); });
    expect_legal([&](Target t) { return mp2_pair_energy_double(v, x, t); });
    expect_legal([&](Target t) { return mp2_reduce_double(o, o, v, t); });
  }
}

}  // namespace
}  // namespace kiln::kernels::test
