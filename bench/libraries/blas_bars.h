// Bars of the BLAS and MP2 kernels: a predicted figure beside what it should be.
#pragma once

#include <string>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::bench {

struct Bar {
  std::string what, target;
  double time_ns = 0;
  double figure = 0;
  double bar = 0;         // 0: none
  bool is_least = false;  // the figure should be at least this, else at most
  bool is_met() const { return bar == 0 || (is_least ? figure >= bar : figure <= bar); }
};

// What a legal program is predicted to take.
double predicted_ns(const isa::Program& program);
// Operations per ns of the tensor engine at full clock.
double peak(DType dtype, Target target);
// What the original measured on a trn1, less the 0.67 ms that a call takes.
Bar original(const std::string& what, double time_ns, double measured_ms);

std::vector<Bar> blas_bars();
std::vector<Bar> mp2_bars();
std::vector<Bar> df_mp2_bars();    // from end to end, against the original
std::vector<Bar> original_bars();  // every number that the original measured
std::vector<Bar> other_figures();  // without a bar

}  // namespace kiln::bench
