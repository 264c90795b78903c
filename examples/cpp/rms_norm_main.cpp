#include <cmath>

#include "example.h"
#include "programs.h"

using namespace kiln;
using namespace kiln::examples;

namespace {

void reference(const Sizes& s, Arrays& arrays) {
  for (std::int64_t r = 0; r < s[0]; ++r) {
    const float* x = &arrays["x"][r * s[1]];
    double squares = 0;
    for (std::int64_t c = 0; c < s[1]; ++c) squares += double{x[c]} * x[c];
    const double scale = 1 / std::sqrt(squares / static_cast<double>(s[1]) + 1e-6);
    for (std::int64_t c = 0; c < s[1]; ++c)
      arrays["out"][r * s[1] + c] = static_cast<float>(x[c] * scale * arrays["gain"][c]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Example example{
      .name = "rms_norm",
      .summary = "out[R, C] = x / sqrt(mean of x² + 1e-6) · gain[C]",
      .size_names = {"R", "C"},
      .default_sizes = {300, 1000},
      .build = [](const Sizes& s, Target target) { return rms_norm(s[0], s[1], target); },
      .reference = reference,
  };
  return run_example(example, argc, argv);
}
