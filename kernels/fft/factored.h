// Factored: complex transforms in two, three or four factors, from HBM to HBM.
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

struct Factored {
  Way way;  // not direct, not bluestein
  bool positive = false;
  double scale = 1;
  std::string prefix = {};  // of the names of tables
};

Tables factored_tables(const Factored& f);
// x and y are [rows, 2 n].
void factored(isa::Kernel& k, const Factored& f, const isa::View& x, const isa::View& y);

}  // namespace kiln::kernels
