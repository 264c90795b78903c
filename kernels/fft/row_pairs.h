// Two real rows a and b of length n as one complex row z = a + i b, whose transform is that of both:
//   a(k) = (z(k) + z(n - k)*) / 2,   b(k) = - i (z(k) - z(n - k)*) / 2,   k = 0 … n / 2
// and backwards z(k) = a(k) + i b(k), z(n - k) = a(k)* + i b(k)*. Rows 2 r and 2 r + 1 are a pair; of an odd number of
// rows the last one is paired with zeros. Errors of a pair are relative to the larger one of its rows.
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

inline std::int64_t pairs_of(std::int64_t rows) { return (rows + 1) / 2; }

// Steps of a transform of `config.rows` real rows, from HBM to HBM. z is [pairs, ≥ 2 n]; what it has beyond is zero.
// `forward` begins with x [rows, n] -> z and ends with twice the half spectra, z -> y [rows, 2 (n / 2 + 1)]; `inverse`
// begins with half spectra and ends with real rows. Factors [1, ≥ 2 (n / 2 + 1)] are numbers w(k) = - w(n - k), as
// those of a chirp, that z is multiplied with on the way.
void join_rows(isa::Kernel& k, const TransformConfig& config, const isa::View& x, const isa::View& z,
               const isa::View& factors = {});
void split_rows(isa::Kernel& k, const TransformConfig& config, const isa::View& z, const isa::View& y,
                const isa::View& factors = {});
// The same of one pair; z is [pairs, 2 n]. A last row that is alone is a pair that is known.
void join_pair(isa::Kernel& k, const TransformConfig& config, const isa::View& x, const isa::View& z,
               const isa::Index& pair);
void split_pair(isa::Kernel& k, const TransformConfig& config, const isa::View& z, const isa::View& y,
                const isa::Index& pair);

}  // namespace kiln::kernels
