#include "kernels/blas/mp2.h"

#include "kernels/blas/compensated.h"
#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/mp2_pairs.h"

namespace kiln::kernels {
using namespace isa;

namespace {}

// Pairs (i, i + d) with the orbitals in a ring: d up to half of it reaches every pair once, so all loops have fixed
// bounds. What belongs to the first orbitals stands behind the last ones once more. The loop over i counts in a
// register: on the chip the program is as long as its pairs of one i.
Program mp2_energy(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary, Target target) {
  require_sizes("mp2_energy", {occupied, virtuals, auxiliary});
  Kernel k("mp2_energy", target);
  const View b = k.input("b", {occupied, virtuals, auxiliary}, f32);
  const View eps_occ = k.input("eps_occ", {1, occupied}, f32), eps_vir = k.input("eps_vir", {1, virtuals}, f32);
  const View energy = k.output("energy", {1, 2}, f32);
  const std::int64_t reach = (occupied - 1) / 2, half = occupied % 2 == 0 ? occupied / 2 : 0;

  Mp2Pairs pairs(k, eps_vir, occupied + reach, auxiliary);
  const Mp2Terms& terms = pairs.terms();
  pairs.turn_panels(b, reach);
  const View ring = k.hbm({1, occupied + reach}, f32);
  k.dma_copy({.dst = ring(all, ds(0, occupied)), .src = eps_occ});
  if (reach > 0) k.dma_copy({.dst = ring(all, ds(occupied, reach)), .src = eps_occ(all, ds(0, reach))});
  CompensatedSum sum(k, kTile, reach + 1);

  k.fori_loop(0, occupied, [&](Reg i) {
    const View of_pairs = k.sbuf({kTile, reach + 1}, f32);
    const Mp2Panel panel = pairs.panel({0, i});
    const Mp2Terms::Occupied e = terms.occupied(ring(all, ds(0, reach + 1)).scalar_offset(i, 1));
    const Mp2Terms::Occupied base = terms.base(e.whole(all, ds(0, 1)));
    pairs.sum(panel, panel, base, e.column(0), of_pairs(all, ds(0, 1)));
    if (reach > 0) {
      k.loop(1, reach + 1, 1, [&](Index d) {
        pairs.sum(panel, pairs.panel({d, i}), base, e.column(d), of_pairs(all, ds(d, 1)));
      });
      const View twice = of_pairs(all, ds(1, reach));  // (i, j) stands for (j, i) too
      k.tensor_scalar({.dst = twice, .data = twice, .op0 = AluOp::multiply, .operand0 = 2.0});
    }
    sum.add(of_pairs);
  });
  if (half > 0) {  // opposite orbitals meet once only
    k.fori_loop(0, half, [&](Reg i) {
      const View of_pair = k.sbuf({kTile, 1}, f32);
      const Mp2Terms::Occupied e = terms.occupied(ring(all, ds(0, half + 1)).scalar_offset(i, 1));
      const Mp2Terms::Occupied base = terms.base(e.whole(all, ds(0, 1)));
      pairs.sum(pairs.panel({0, i}), pairs.panel({half, i}), base, e.column(half), of_pair);
      k.tensor_scalar({.dst = of_pair, .data = of_pair, .op0 = AluOp::multiply, .operand0 = 2.0});
      sum.add(of_pair);
    });
  }
  sum.store_total(energy);
  return k.finish();
}

Program mp2_pair_energy(std::int64_t virtuals, std::int64_t auxiliary, Target target) {
  require_sizes("mp2_pair_energy", {virtuals, auxiliary});
  Kernel k("mp2_pair_energy", target);
  const View b_i = k.input("b_i", {virtuals, auxiliary}, f32), b_j = k.input("b_j", {virtuals, auxiliary}, f32);
  const View eps_ij = k.input("eps_ij", {1, 2}, f32), eps_vir = k.input("eps_vir", {1, virtuals}, f32);
  const View energy = k.output("energy", {1, 2}, f32);
  Mp2Pairs pairs(k, eps_vir, 2, auxiliary);
  pairs.turn_panel(b_i, {{0}});
  pairs.turn_panel(b_j, {{1}});
  const Mp2Terms::Occupied e = pairs.terms().occupied(eps_ij);
  const View of_pair = k.sbuf({kTile, 1}, f32);
  pairs.sum(pairs.panel({0}), pairs.panel({1}), pairs.terms().base(e.whole(all, ds(0, 1))), e.column(1), of_pair);
  CompensatedSum sum(k, kTile, 1);
  sum.add(of_pair);
  sum.store_total(energy);
  return k.finish();
}

}  // namespace kiln::kernels
