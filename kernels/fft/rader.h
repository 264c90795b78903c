// Rader's algorithm for a prime length p: with a generator g of the numbers 1 … p - 1 modulo p, j = g^q and k = g^-r
// make Σ_j≥1 x(j) e^(± 2 pi i j k / p) a circular convolution of exactly p - 1 numbers, half as many as Bluestein's
// takes. Rows are put into the order of the powers on the chip, each on a partition.
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

// The longest length whose rows fit a partition beside the indices of their order.
inline constexpr std::int64_t kLongestRader = 1 << 14;

bool is_prime(std::int64_t n);

// With `pairs`, x or y has two real rows for each complex one, as row_pairs.h has them: `forward` real rows to twice
// their half spectra, `inverse` half spectra to real rows. They are joined and taken apart where numbers are put in
// order.
Tables rader_tables(const TransformConfig& config, const Way& way, Spectrum pairs = Spectrum::whole);
// x and y are [rows, 2 p] in HBM; the way has the factors of p - 1.
void rader(isa::Kernel& k, const TransformConfig& config, const Way& way, const isa::View& x, const isa::View& y,
           Spectrum pairs = Spectrum::whole);

}  // namespace kiln::kernels
