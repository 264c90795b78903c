// ColumnPass: the first step of a transform that is too long for two factors. With j = j0 m + r and k0 the result,
//   s(k0, r) = e^(± 2 pi i k0 r / n) Σ_j0 x(j0, r) e^(± 2 pi i j0 k0 / n0),   n = n0 m,
// from HBM to HBM; what remains is a transform of length m of each row of s, whose results y(k0, k) are number
// k0 + n0 k of the whole.
#pragma once

#include "kernels/fft/table.h"

namespace kiln::kernels {

struct ColumnPassConfig {
  std::int64_t n0 = 1, m = 1;  // n0 at most 128
  bool positive = false;
  std::string prefix = {};
  std::int64_t p() const { return std::max<std::int64_t>(1, 128 / n0); }  // rows that share the partitions
};

Tables column_pass_tables(const ColumnPassConfig& config);

class ColumnPass {
 public:
  ColumnPass(isa::Kernel& k, const ColumnPassConfig& config);
  // x [rows, 2 n] -> s [rows * n0, 2 m]
  void run(const isa::View& x, const isa::View& s) const { run(x, s, 0, c_.m); }
  // The same for some columns of m.
  void run(const isa::View& x, const isa::View& s, std::int64_t column, std::int64_t columns) const;

 private:
  void chunk(const isa::View& x, const isa::View& s, const isa::Index& first, std::int64_t width) const;
  isa::Kernel& k_;
  ColumnPassConfig c_;
  isa::View cos_, sin_, minus_sin_, twiddles_;  // the last one in HBM, [n0, 2 m]
};

}  // namespace kiln::kernels
