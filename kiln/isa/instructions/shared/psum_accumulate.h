// PSUM accumulation, shared by nc_matmul and nc_matmul_mx.
#pragma once

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa {

// What the argument `accumulate` asks for.
SumMode sum_mode_of(const Arg& accumulate);

// A product enters PSUM. Decides, per element of dst, whether it overwrites or adds. accumulate None: the
// first matmul into a tensor overwrites, later ones add. True on memory that no matmul wrote breaks
// `never_rule` (never written) or `other_rule` (written by another instruction: an error on gen2 and gen3, a
// warning from gen4 on). dst[m, n] depends on by_row[m], by_column[n] (empty: clean), and on itself where it
// is added to.
void track_product(Track& t, int dst, const Arg& accumulate, const Rule& never_rule, const Rule& other_rule,
                   const std::vector<Shadow>& by_row, const std::vector<Shadow>& by_column);

// The first shadow of each column of a tile whose rows hold `columns` elements one or several times; empty
// when clean.
std::vector<Shadow> column_shadow(Track& t, int param, std::int64_t columns);

// dst (m x n) becomes, or is increased by, the product of a (k x m) and b (k x n), as run.psum_mode says. The
// finished float32 sum is added once.
void multiply_into(const Run& r, const Tile& dst, const Factor& a, const Factor& b, std::int64_t k);

}  // namespace kiln::isa
