// Real rows of length n = n1 n2 in two factors, n1 at most 128 and n2 even and at most 512, and half spectra back: one
// trip through SBUF for up to four times the numbers that TwoFactor has room for.
//
// With j = j1 n2 + j2 and k = k1 + n1 k2, half a spectrum has k2 < n2 / 2, and one number more, the middle one. The
// longer factor is cut into pieces, of which half a spectrum has half as many:
//   forward   a(j2, k1) = Σ_j1 x(j1, j2) w1^(j1 k1), times w^(j2 k1), y(k2, k1) = Σ_j2 w2^(j2 k2) a(j2, k1)
//   inverse   a(k1, j2) = Σ_k2 x(k1, k2) w2^(k2 j2), times w^(k1 j2), y(j1, j2) = the real part of Σ_k1 w1^(j1 k1) a
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

struct LongReal {
  std::int64_t n1 = 1, n2 = 2;
  Spectrum spectrum = Spectrum::forward;  // or inverse
  bool positive = false;                  // the sign of the exponent; `inverse` always has the positive one
  double scale = 1;
  Precision precision = Precision::native;
  std::int64_t warm_up = 0;  // columns of zeros before the first product (warm_up.h)

  std::int64_t n() const { return n1 * n2; }
  // Pieces of n2, and their size.
  std::int64_t pieces() const { return n2 > 256 ? 4 : 2; }
  std::int64_t size() const { return n2 / pieces(); }
};

bool is_possible(const LongReal& f);
Tables long_real_tables(const LongReal& f);
// Real rows [rows, n] to half spectra [rows, n + 2], or the other way round.
void long_real(isa::Kernel& k, const LongReal& f, const isa::View& x, const isa::View& y);

}  // namespace kiln::kernels
