// What solvers share besides their arithmetic.
#pragma once

#include "kernels/sparse/solvers.h"

namespace kiln::kernels {

// Throws Error (sparse.R*) unless the matrix is square and its pattern one.
void require_solver(const char* what, const SolverConfig& config);

// Carries a scalar of the vector engine to a register that a loop tests.
class Stop {
 public:
  explicit Stop(isa::Kernel& k);
  // go = more, which is 0 or 1 on all partitions.
  void tell(const isa::View& more, isa::Reg go);

 private:
  isa::Kernel& k_;
  isa::View flag_;
};

}  // namespace kiln::kernels
