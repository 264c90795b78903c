// Real rows of an even length n as complex ones of half of it, m: even numbers are their real parts, odd ones their
// imaginary parts. Between spectra z of m numbers and halves x of spectra of n both ways are one step on pairs:
//   y(k) = S + w(k) D,   y(m - k) = (S - w(k) D)*,   S = x(k) + x(m - k)*,   D = x(k) - x(m - k)*
// With w(k) = - i e^(± 2 pi i k / n) it makes twice half a spectrum of z; with w(k) = i e^(2 pi i k / n) it makes z.
#pragma once

#include "kernels/fft/two_factor.h"

namespace kiln::kernels {

struct TangleConfig {
  std::int64_t m = 1;  // half the length
  Spectrum spectrum = Spectrum::forward;
  bool positive = false;

  std::int64_t pairs() const { return (m - 1) / 2; }  // from k = 1 on
};

Complex tangle_weight(const TangleConfig& config, std::int64_t k);
Table tangle_table(const TangleConfig& config);

// `forward`: x [rows, 2 m], y [rows, 2 (m + 1)]; `inverse` the other way round, and what should be real in x counts as
// real. Both are tensors, or slices of their rows that are known.
void tangle(isa::Kernel& k, const TangleConfig& config, const isa::View& x, const isa::View& y);
// y(k) of numbers on the chip, [partitions, width, 2]: x(k), x(m - k) and w(k).
void tangle_tiles(isa::Kernel& k, const TangleConfig& config, const isa::View& to, const isa::View& lower,
                  const isa::View& other, const isa::View& weights);
// What one of two cores does of a single row.
void tangle_on_core(isa::Kernel& k, const TangleConfig& config, const isa::View& x, const isa::View& y, int core);

}  // namespace kiln::kernels
