// Way: how a transform is computed, and all ways that there are for a length.
#pragma once

#include <string>
#include <vector>

#include "kernels/fft/two_factor.h"

namespace kiln::kernels {

// y(k) = scale Σ_j x(j) e^(± 2 pi i j k / n) for each row of x.
struct TransformConfig {
  std::int64_t n = 1, rows = 1;
  Spectrum spectrum = Spectrum::whole;
  bool positive = false;  // the sign of the exponent; `inverse` always has the positive one
  double scale = 1;
  std::int64_t table_rows = 0;              // that tables are made for, where a program has some of them only; 0: rows
  Precision precision = Precision::native;  // of products; others split their operands

  std::int64_t rows_of_tables() const { return table_rows ? table_rows : rows; }
  // Numbers in a row of x and y.
  std::int64_t x_width() const;
  std::int64_t y_width() const;
};

struct Way {
  enum class Kind : std::uint8_t {
    direct,        // one product with the matrix of the transform
    two_factor,    // n = n1 n2; real ones also with n2 up to 512
    three_factor,  // n = n0 n1 n2
    four_factor,   // n = n3 n0 n1 n2, through HBM
    bluestein,     // a convolution of length n3 n0 n1 n2, n3 and n0 being 1 where fewer factors are enough
    rader,         // one of length n1 n2 = n - 1
  };
  Kind kind = Kind::direct;
  std::int64_t n0 = 1, n1 = 1, n2 = 1, n3 = 1;
  bool halved = false;       // real rows as complex ones of half their length, which go this way
  bool paired = false;       // two real rows as one complex one, which goes this way
  bool one_trip = false;     // three factors without a pass through HBM (one_trip.h)
  bool by_software = false;  // starts its DMAs (rewrite/dma_starts.h)
  bool finely = false;       // what nothing overlaps is short: pieces in one trip, middle numbers first in two factors
  std::int64_t warm_up = 0;  // columns of zeros that are multiplied before the first rows are there (warm_up.h)

  std::int64_t product() const { return n0 * n1 * n2 * n3; }
  // Rather than its convolutions alone.
  bool is_one_trip() const { return one_trip && kind == Kind::three_factor; }
  std::string name() const;  // "two_factor 64x64"
};

inline constexpr std::int64_t kLongest = 1 << 24;

// What is worth timing, the most promising first by a rough count of work; there is one for every n up to 2^24.
std::vector<Way> ways(const TransformConfig& config);

}  // namespace kiln::kernels
