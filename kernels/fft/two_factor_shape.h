// What TwoFactor and its tables share: sizes of its products, and where numbers lie.
#pragma once

#include "kernels/fft/two_factor.h"

namespace kiln::kernels::two_factor {

inline constexpr std::int64_t kImaginary = 64;  // partition where imaginary parts begin when both parts share a tile

// Whether what is left of half a spectrum is its middle number alone: a real one, which is added to the results.
inline bool has_middle(const TwoFactorConfig& c) {
  return c.spectrum == Spectrum::inverse && 2 * c.n1 * c.half_rows() == c.n() && c.half_rest() == 1;
}
inline std::int64_t rest_loaded(const TwoFactorConfig& c) { return has_middle(c) ? 0 : c.half_rest(); }
inline std::int64_t rows_loaded(const TwoFactorConfig& c) { return c.half_rows() + (rest_loaded(c) ? 1 : 0); }

inline bool folds_in(const TwoFactorConfig& c) { return c.folded && !c.by_columns; }
inline bool folds_out(const TwoFactorConfig& c) { return c.folded && c.by_columns; }
// Where number i of n stands when the second half is folded back: from partition 64 on, in the other order.
inline std::int64_t folded_place(std::int64_t i, std::int64_t n) { return i < n / 2 ? i : kImaginary + n - 1 - i; }
inline std::int64_t folded_size(std::int64_t n) { return kImaginary + n / 2; }

// What the first product contracts over, and what the second one does.
inline std::int64_t first_size(const TwoFactorConfig& c) { return c.spectrum == Spectrum::inverse ? c.n2 : c.n1; }
inline std::int64_t second_size(const TwoFactorConfig& c) { return c.spectrum == Spectrum::inverse ? c.n1 : c.n2; }
// Numbers of a result of the first product that are computed: those of real rows are half a spectrum.
inline std::int64_t first_results(const TwoFactorConfig& c) {
  return c.spectrum == Spectrum::forward ? c.n1 / 2 + 1 : first_size(c);
}
// Copies of a transform that share the partitions in the first product, and in the second.
inline std::int64_t first_copies(const TwoFactorConfig& c) { return c.spectrum == Spectrum::inverse ? c.q() : c.p(); }
inline std::int64_t second_copies(const TwoFactorConfig& c) { return c.spectrum == Spectrum::inverse ? c.p() : c.q(); }

// Of real rows: rows of half a spectrum that are whole, and whether the one that is begun behind them is computed with
// them: of even lengths that is the middle number alone, which else is a sum of its own.
inline std::int64_t whole_rows(const TwoFactorConfig& c) { return c.n2 / 2; }
inline bool has_begun_row(const TwoFactorConfig& c) {
  return c.n2 % 2 == 1 || c.q() * (whole_rows(c) + 1) <= kImaginary;
}
inline Complex phase(const TwoFactorConfig& c, std::int64_t k, std::int64_t n) {
  return root(c.positive || c.spectrum == Spectrum::inverse ? k : -k, n);
}

// All tables, [up to 128 rows, columns] each, in the order in which they are needed, and which of them are early.
Tables parts_of(const TwoFactorConfig& c);
bool is_early(const TwoFactorConfig& c, const Table& t);

}  // namespace kiln::kernels::two_factor
