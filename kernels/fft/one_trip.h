// OneTrip: transforms in three factors of rows that SBUF has room for, one trip through it for each of them.
//
// With j = (j0 n1 + j1) n2 + j2 and k = k0 + n0 (k1 + n1 k2), x(j) -> Σ x(j) e^(± 2 pi i j k / n) is
//   a(j1; j2, k0) = w(j1 k0 / (n0 n1)) Σ_j0 w(j0 k0 / n0) x(j0; j1, j2)
//   b(k0, j2; k1) = w(j2 (k0 + n0 k1) / n) Σ_j1 w(j1 k1 / n1) a(j1; j2, k0)
//   y(k1; k0, k2) = Σ_j2 w(j2 k2 / n2) b(k0, j2; k1)
// where what stands before the semicolon is on the partitions. The data are the stationary operand of all three, which
// so turn them for nothing. n2 is small: as many k0 as there is room for share the partitions with it, through a table
// that is block diagonal. Rows come and go in runs of n / n0 and n0 numbers.
//
// Real rows need k0 = 0 … n0 / 2 only: results of k2 < n2 / 2 are half a spectrum's, those of the others conjugates of
// the rest of it. Half a spectrum is made one of half as many complex numbers where it is loaded (tangle.h), whose
// transform is the real row.
#pragma once

#include <functional>

#include "kernels/fft/way.h"

namespace kiln::kernels {

struct OneTrip {
  Way way;  // n0, n1 and n2
  Spectrum spectrum = Spectrum::whole;
  bool positive = false;  // the sign of the exponent; `inverse` always has the positive one
  double scale = 1;
  std::string prefix = {};  // of the names of tables
  Precision precision = Precision::native;

  std::int64_t n() const { return way.n0 * way.n1 * way.n2; }  // of the rows: `inverse` twice as many numbers
  // Numbers k0 that are computed, and how many of them share the partitions with n2.
  std::int64_t kept() const { return spectrum == Spectrum::forward ? way.n0 / 2 + 1 : way.n0; }
  std::int64_t together() const;
  std::int64_t blocks() const;
};

// Whether there is such a kernel: factors of at most 128, of which the third one is even where rows are real and of an
// even length.
bool is_possible(const OneTrip& f);
// The time that the tensor engine takes for a row, about: columns that it multiplies.
double columns_of(const OneTrip& f);
Tables one_trip_tables(const OneTrip& f);
// Complex rows [rows, 2 n] to such rows, real rows [rows, n] to half spectra [rows, n + 2], or half spectra
// [rows, 2 n + 2] to real rows [rows, 2 n].
void one_trip(isa::Kernel& k, const OneTrip& f, const isa::View& x, const isa::View& y);

// Complex rows whose parts come as, or go to, real rows that follow each other, [2 rows, n]; and steps on rows in HBM,
// before one is loaded and after it is stored, while its neighbours are transformed.
struct OneTripSteps {
  bool parts_come = false, parts_go = false;
  std::function<void(const isa::Index&)> before = {}, after = {};
};
void one_trip(isa::Kernel& k, const OneTrip& f, const isa::View& x, const isa::View& y, std::int64_t rows,
              const OneTripSteps& steps);
// What one of two cores does of a single row: the results of half of the k0.
void one_trip_on_core(isa::Kernel& k, const OneTrip& f, const isa::View& x, const isa::View& y, int core);

}  // namespace kiln::kernels
