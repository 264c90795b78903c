#include "kiln/sim/compute.h"

#include "kiln/sim/rounded_integers.h"

namespace kiln::sim {

void compute(isa::Run& run, FirstNonfinite* nonfinite) {
  if (!nonfinite || !nonfinite->looks_at(run)) return compute_exactly(run);
  const Before& before = nonfinite->look_before(run);
  compute_exactly(run);
  nonfinite->look_after(run, before);
}

}  // namespace kiln::sim
