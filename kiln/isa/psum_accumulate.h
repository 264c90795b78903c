// PSUM accumulation, shared by nc_matmul and nc_matmul_mx.
#pragma once

#include "kiln/isa/run.h"
#include "kiln/isa/track.h"

namespace kiln::isa {

// Decides, per element of dst, whether the result overwrites or adds. accumulate None: the first matmul
// overwrites, later ones add. True on memory that no matmul wrote breaks `never_rule` (never written) or
// `other_rule` (written by another instruction: an error on gen2 and gen3, a warning from gen4 on).
PsumMode track_accumulate(Track& t, int dst, const Arg& accumulate, int never_rule, int other_rule);

// Stores a finished sum (rows x n, row-major) into dst as run.psum_mode says. The sum is added once, in
// float32.
void store_sum(const Run& r, const Tile& dst, const float* sum);

}  // namespace kiln::isa
