// Factored: complex transforms in two, three or four factors, from HBM to HBM.
#pragma once

#include "kernels/fft/column_pass.h"
#include "kernels/fft/way.h"

namespace kiln::kernels {

struct Factored {
  Way way;  // not direct, not bluestein
  bool positive = false;
  double scale = 1;
  std::string prefix = {};  // of the names of tables
  std::int64_t rows = 128;  // that tables are made for
  Precision precision = Precision::native;
  std::string filter = {};  // of two factors: what results are multiplied with (two_factor.h)
};

// Two factors as such.
TwoFactorConfig two_factors(const Factored& f);
Tables factored_tables(const Factored& f);

// Such transforms in three factors, whose tables are declared and loaded once for all rows that come.
class ThreeFactors {
 public:
  ThreeFactors(isa::Kernel& k, const Factored& f);
  // x and y are [rows, 2 n].
  void run(const isa::View& x, const isa::View& y) const;
  // In two steps: what the columns of rows make, [rows * n0, 2 m], of x [rows, 2 n] or of x [2 rows, n], real rows that
  // follow each other being the parts of one; and from that the results of one row, y [1, 2 n] or [2, n].
  isa::View columns(const isa::View& x) const;
  isa::View columns_of_pairs(const isa::View& x) const;
  void row(const isa::View& between, std::int64_t row, const isa::View& y) const;
  void row_to_pair(const isa::View& between, std::int64_t row, const isa::View& y) const;

 private:
  isa::Kernel& k_;
  std::int64_t n0_, m_;
  TwoFactor rows_;
  ColumnPass pass_;
};

// x and y are [rows, 2 n].
void factored(isa::Kernel& k, const Factored& f, const isa::View& x, const isa::View& y);
// What one of two cores does of a single transform in three factors, half the columns, then half the rows, or in two,
// half of the results.
void factored_on_core(isa::Kernel& k, const Factored& f, const isa::View& x, const isa::View& y, int core);

}  // namespace kiln::kernels
