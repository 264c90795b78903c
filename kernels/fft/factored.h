// Factored: complex transforms in two, three or four factors, from HBM to HBM.
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

struct Factored {
  Way way;  // not direct, not bluestein
  bool positive = false;
  double scale = 1;
  std::string prefix = {};  // of the names of tables
  std::int64_t rows = 128;  // that tables are made for
  Precision precision = Precision::native;
};

Tables factored_tables(const Factored& f);
// x and y are [rows, 2 n].
void factored(isa::Kernel& k, const Factored& f, const isa::View& x, const isa::View& y);
// What one of two cores does of a single transform in three factors, half the columns, then half the rows, or in two,
// half of the results.
void factored_on_core(isa::Kernel& k, const Factored& f, const isa::View& x, const isa::View& y, int core);

}  // namespace kiln::kernels
