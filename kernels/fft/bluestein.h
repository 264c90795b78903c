// Bluestein's algorithm: with j k = (j² + k² - (k - j)²) / 2 a transform of any length is a convolution with a chirp,
// here one of a length m that has factors, as many as numbers come and go: of whole rows at least 2 n - 1, of half
// spectra and real rows n + n / 2. Squares are reduced modulo 2 n before they are angles.
#pragma once

#include "kernels/fft/way.h"

namespace kiln::kernels {

// Numbers that a row has before and after: half a spectrum has n / 2 + 1.
inline std::int64_t numbers_in(const TransformConfig& c) { return c.spectrum == Spectrum::inverse ? c.n / 2 + 1 : c.n; }
inline std::int64_t numbers_out(const TransformConfig& c) {
  return c.spectrum == Spectrum::forward ? c.n / 2 + 1 : c.n;
}

Tables bluestein_tables(const TransformConfig& config, const Way& way);
// x and y are [rows, x_width] and [rows, y_width] in HBM.
void bluestein(isa::Kernel& k, const TransformConfig& config, const Way& way, const isa::View& x, const isa::View& y);

// What one of two cores does of a single row whose convolution has two or three factors.
void bluestein_on_core(isa::Kernel& k, const TransformConfig& config, const Way& way, const isa::View& x,
                       const isa::View& y, int core);

// The same with other first and last steps: what z [rows, 2 m] is made of, and what is made of it, times a chirp
// [1, 2 numbers].
using ChirpStep = std::function<void(const isa::View& z, const isa::View& chirp)>;
void bluestein(isa::Kernel& k, const TransformConfig& config, const Way& way, const ChirpStep& before,
               const ChirpStep& after);

}  // namespace kiln::kernels
