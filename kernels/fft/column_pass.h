// ColumnPass: the first step of a transform that is too long for two factors. With j = j0 m + r and k0 the result,
//   s(k0, r) = e^(± 2 pi i k0 r / n) Σ_j0 x(j0, r) e^(± 2 pi i j0 k0 / n0),   n = n0 m,
// from HBM to HBM; what remains is a transform of length m of each row of s, whose results y(k0, k) are number
// k0 + n0 k of the whole.
//
// Of real rows the numbers k0 and n0 - k0 are each other's conjugates: `forward` makes k0 = 0 … n0 / 2 only. `inverse`
// is the last step backwards, from such rows of half a spectrum to real ones:
//   x(j0, r) = Re Σ_k0 weight(k0) e^(2 pi i j0 k0 / n0) s(k0, r)
// where s has the factors e^(2 pi i k0 r / n) in it, which whoever makes it takes from twiddles().
#pragma once

#include "kernels/fft/two_factor.h"

namespace kiln::kernels {

struct ColumnPassConfig {
  std::int64_t n0 = 1, m = 1;  // n0 at most 128
  bool positive = false;
  std::string prefix = {};
  Spectrum spectrum = Spectrum::whole;
  Precision precision = Precision::native;
  std::int64_t p() const { return std::max<std::int64_t>(1, 128 / n0); }               // rows that share the partitions
  std::int64_t kept() const { return spectrum == Spectrum::whole ? n0 : n0 / 2 + 1; }  // numbers k0
  std::int64_t contracted() const { return spectrum == Spectrum::inverse ? kept() : n0; }
  std::int64_t results() const { return spectrum == Spectrum::inverse ? n0 : kept(); }
};

Tables column_pass_tables(const ColumnPassConfig& config);

class ColumnPass {
 public:
  ColumnPass(isa::Kernel& k, const ColumnPassConfig& config);
  // x [rows, 2 n] -> s [rows * n0, 2 m]; `forward` x [rows, n] -> s [rows * kept, 2 m], `inverse` the other way round
  void run(const isa::View& x, const isa::View& s) const { run(x, s, 0, c_.m); }
  // The same for some columns of m.
  void run(const isa::View& x, const isa::View& s, std::int64_t column, std::int64_t columns) const;
  // Of complex rows whose parts are real rows of x [2 rows, n] that follow each other; `whole` only.
  void run_pairs(const isa::View& x, const isa::View& s) const;
  // In HBM, [kept, 2 m].
  const isa::View& twiddles() const { return twiddles_; }

 private:
  void chunk(const isa::View& x, const isa::View& s, const isa::Index& first, std::int64_t width) const;
  void products(const std::vector<isa::View>& parts, const isa::View& s, const isa::Index& first,
                std::int64_t width) const;
  void chunk_back(const isa::View& s, const isa::View& x, const isa::Index& first, std::int64_t width) const;
  void add(const isa::View& sum, const Parts& table, const isa::View& moving) const;
  isa::View weights(std::int64_t rows, const isa::Index& first, std::int64_t width) const;
  isa::Kernel& k_;
  ColumnPassConfig c_;
  Parts cos_, sin_, minus_sin_;
  isa::View twiddles_;
};

}  // namespace kiln::kernels
