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
};

Tables factored_tables(const Factored& f);

// Such transforms in three factors, whose tables are declared and loaded once for all rows that come.
class ThreeFactors {
 public:
  ThreeFactors(isa::Kernel& k, const Factored& f);
  // x and y are [rows, 2 n].
  void run(const isa::View& x, const isa::View& y) const;
  // x or y is [2 rows, n]: real rows that follow each other are the parts of one.
  void run_from_pairs(const isa::View& x, const isa::View& y) const;
  void run_to_pairs(const isa::View& x, const isa::View& y) const;

 private:
  void run_rows(const isa::View& between, const isa::View& y) const;

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
