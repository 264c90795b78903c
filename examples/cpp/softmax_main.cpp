#include <algorithm>
#include <cmath>

#include "example.h"
#include "programs.h"

using namespace kiln;
using namespace kiln::examples;

namespace {

void reference(const Sizes& s, Arrays& arrays) {
  for (std::int64_t r = 0; r < s[0]; ++r) {
    const float* x = &arrays["x"][r * s[1]];
    const double max = *std::max_element(x, x + s[1]);
    double sum = 0;
    for (std::int64_t c = 0; c < s[1]; ++c) sum += std::exp(x[c] - max);
    for (std::int64_t c = 0; c < s[1]; ++c)
      arrays["out"][r * s[1] + c] = static_cast<float>(std::exp(x[c] - max) / sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Example example{
      .name = "softmax",
      .summary = "out[R, C] = softmax of each row of x; rows of more than 8192 columns are streamed",
      .size_names = {"R", "C"},
      .default_sizes = {300, 1000},
      .build = [](const Sizes& s, Target target) { return softmax(s[0], s[1], target); },
      .reference = reference,
  };
  return run_example(example, argc, argv);
}
