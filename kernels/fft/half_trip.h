// HalfTrip: half spectra to real rows in three factors, one trip through SBUF for each row.
//
// With k = k0 + n0 (k2 + n2 k1) and j = j1 + n1 (j2 + n2 j0), half a spectrum x(k) -> Σ x(k) e^(2 pi i j k / n), m = n1
// n2, is twice the real part of
//   a(k2; k0, j1) = w(j1 k2 / m) Σ_k1 w(j1 k1 / n1) x(k1; k2, k0)
//   b(j1, k0; j2) = w(k0 (j1 + n1 j2) / n) Σ_k2 w(j2 k2 / n2) a(k2; k0, j1)
//   y(j2; j1, j0) = Σ_k0 w(j0 k0 / n0) b(j1, k0; j2)
// where what stands before the semicolon is on the partitions, with k0 = 0 … n0 / 2 only. The data are the stationary
// operand of all three. k1 < n1 / 2 are numbers of half a spectrum as they come; those of the others are conjugates,
// x(n - k)*, which are loaded as they lie and turned round on the chip, and whose tables have the other sign. Of k0 = 0
// and n0 / 2 the first half stands for both; the middle number has the last place of the other half of k0 = 0. Of odd
// lengths the k1 in the middle has numbers of both kinds.
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

struct HalfTrip {
  Way way;  // n0, n1 and n2
  double scale = 1;
  Precision precision = Precision::native;

  std::int64_t n() const { return way.n0 * way.n1 * way.n2; }
  // Numbers k0 that are computed, and how many j1 share the partitions with them.
  std::int64_t kept() const { return way.n0 / 2 + 1; }
  std::int64_t together() const;
  std::int64_t blocks() const;
};

// Whether there is such a kernel: factors of at most 128, the one that is contracted first even where the length is.
bool is_possible(const HalfTrip& f);
// The time that the tensor engine takes for a row, about: columns that it multiplies.
double columns_of(const HalfTrip& f);
Tables half_trip_tables(const HalfTrip& f);
// Half spectra [rows, 2 (n / 2 + 1)] to real rows [rows, n].
void half_trip(isa::Kernel& k, const HalfTrip& f, const isa::View& x, const isa::View& y);
// What one of two cores does of a single row: half of the j1.
void half_trip_on_core(isa::Kernel& k, const HalfTrip& f, const isa::View& x, const isa::View& y, int core);

}  // namespace kiln::kernels
