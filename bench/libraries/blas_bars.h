// Bars of the BLAS and MP2 kernels: a predicted figure beside what it should be.
#pragma once

#include <string>
#include <vector>

namespace kiln::bench {

struct Bar {
  std::string what, target;
  double time_ns = 0;
  double figure = 0;
  double bar = 0;         // 0: none
  bool is_least = false;  // the figure should be at least this, else at most
  bool is_met() const { return bar == 0 || (is_least ? figure >= bar : figure <= bar); }
};

std::vector<Bar> blas_bars();
std::vector<Bar> mp2_bars();
std::vector<Bar> original_bars();  // every number that the original measured
std::vector<Bar> other_figures();  // without a bar

}  // namespace kiln::bench
