#include "kernels/blas/compensated.h"
#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/mp2.h"
#include "kernels/blas/mp2_terms.h"

namespace kiln::kernels {
using namespace isa;

namespace {

// T_ijba opposite of a piece of a strip: tiles below the diagonal, turned into PSUM.
View opposite(Kernel& k, const View& t, const Index& row, const Index& column, const Mp2Strip& strip,
              const Piece& columns) {
  const View y = k.psum({kTile, tiles_of(columns.size, kWide) * kWide}, f32)(ds(0, strip.rows), ds(0, columns.size));
  for (const Piece& p : whole_pieces(columns.size, kTile)) {
    const View tile = k.sbuf({p.size, strip.rows}, f32);
    const Index first = row + (strip.start + columns.start + p.start);
    k.dma_copy({.dst = tile, .src = t(ds(first, p.size), ds(column + strip.start, strip.rows))});
    k.nc_transpose({.dst = y(all, ds(p.start, p.size)), .data = tile});
  }
  return y;
}

}  // namespace

Program mp2_reduce(std::int64_t chunk, std::int64_t occupied, std::int64_t virtuals, Target target) {
  require_sizes("mp2_reduce", {chunk, occupied, virtuals});
  Kernel k("mp2_reduce", target);
  const View t = k.input("t", {chunk * virtuals, occupied * virtuals}, f32);
  const View eps_chunk = k.input("eps_chunk", {1, chunk}, f32), eps_occ = k.input("eps_occ", {1, occupied}, f32);
  const View eps_vir = k.input("eps_vir", {1, virtuals}, f32), energy = k.output("energy", {1, 2}, f32);
  const Mp2Terms terms(k, eps_vir);
  const Mp2Terms::Occupied of_chunk = terms.occupied(eps_chunk), e = terms.occupied(eps_occ);
  CompensatedSum sum(k, kTile, occupied);
  k.loop(chunk, [&](Index i) {
    const View of_pairs = k.sbuf({kTile, occupied}, f32);
    const Mp2Terms::Occupied base = terms.base(of_chunk.whole(all, ds(i, 1)));
    k.loop(occupied, [&](Index j) {
      const Mp2Terms::Occupied e_j = e.column(j);
      const std::vector<Mp2Task> tasks = terms.tasks();
      const View parts = k.sbuf({kTile, static_cast<std::int64_t>(tasks.size())}, f32);
      k.memset({.dst = parts, .value = 0.0});
      for (std::size_t n = 0; n < tasks.size(); ++n) {
        const auto& [strip, columns] = tasks[n];
        const View x = k.sbuf({strip.rows, columns.size}, f32);
        const Index row = i * virtuals, column = j * virtuals;
        k.dma_copy(
            {.dst = x,
             .src = t(ds(row + strip.start, strip.rows), ds(column + (strip.start + columns.start), columns.size))});
        const View y = opposite(k, t, row, column, strip, columns);
        terms.sum(strip, columns, x, y, base, e_j, parts(all, ds(static_cast<std::int64_t>(n), 1)));
      }
      k.tensor_reduce({.dst = of_pairs(all, ds(j, 1)), .op = AluOp::add, .data = parts, .axis = {1}});
    });
    sum.add(of_pairs);
  });
  sum.store_total(energy);
  return k.finish();
}

}  // namespace kiln::kernels
