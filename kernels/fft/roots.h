// Roots of unity from exact indices: an angle is never formed from a product that was rounded.
#pragma once

#include <complex>
#include <cstdint>

namespace kiln::kernels {

using Complex = std::complex<double>;

// e^(2 pi i k / n), rounded correctly but for the last bit. k may be any number: it is reduced before it is an angle.
Complex root(std::int64_t k, std::int64_t n);

// a b mod n without overflow, for factors below 2^62.
std::int64_t product_mod(std::int64_t a, std::int64_t b, std::int64_t n);

}  // namespace kiln::kernels
