// Real rows in three factors, and half spectra back: half the columns of a first pass, whose rows are complex.
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

struct RealFactored {
  Way way;  // three factors
  Spectrum spectrum = Spectrum::forward;
  bool positive = false;
  double scale = 1;
  std::int64_t rows = 1;  // that tables are made for
  Precision precision = Precision::native;
};

// Whether the factors can be taken: those that are folded are even.
bool is_possible(const RealFactored& f);
Tables real_factored_tables(const RealFactored& f);
// Real rows [rows, n] to half spectra [rows, n + 2], or the other way round: tensors, or known rows of them.
void real_factored(isa::Kernel& k, const RealFactored& f, const isa::View& x, const isa::View& y);
// What one of two cores does of a single row: half the columns, and half of the rows of the other step.
void real_factored_on_core(isa::Kernel& k, const RealFactored& f, const isa::View& x, const isa::View& y, int core);

}  // namespace kiln::kernels
