#include "tests/kernels/programs.h"

#include "kernels/fft/double_transform.h"
#include "kernels/fft/elementwise.h"
#include "kernels/fft/frames.h"
#include "kernels/fft/transform.h"

namespace kiln::kernels::test {

std::map<std::string, isa::Program> programs(Target t) {
  using Kind = Way::Kind;
  const auto one = [&](std::int64_t n, std::int64_t rows, const Way& way, Spectrum spectrum = Spectrum::whole) {
    return transform({.n = n, .rows = rows, .spectrum = spectrum}, way, t);
  };
  // With zeros first.
  const auto one_trip = [](std::int64_t n0, std::int64_t n1, std::int64_t n2) {
    Way way{Kind::three_factor, n0, n1, n2};
    way.one_trip = true, way.warm_up = 300;
    return way;
  };
  return {
      {"direct", one(30, 5, {Kind::direct})},
      {"two_factor", one(480, 21, {Kind::two_factor, 1, 20, 24})},
      {"two_factor_real", one(480, 21, {Kind::two_factor, 1, 20, 24}, Spectrum::forward)},
      {"two_factor_half", one(480, 21, {Kind::two_factor, 1, 20, 24}, Spectrum::inverse)},
      {"three_factor", one(1000, 2, {Kind::three_factor, 10, 10, 10})},
      {"bluestein", one(263, 3, {Kind::bluestein, 1, 22, 24})},
      {"bluestein_real", one(263, 3, {Kind::bluestein, 1, 18, 22}, Spectrum::forward)},
      {"three_factor_real", one(1200, 3, {Kind::three_factor, 10, 6, 20}, Spectrum::forward)},
      {"long_factor_real", one(1300, 7, {Kind::two_factor, 1, 10, 130}, Spectrum::forward)},
      {"long_factor_half", one(2080, 3, {Kind::two_factor, 1, 8, 260}, Spectrum::inverse)},
      {"three_factor_half", one(1200, 3, {Kind::three_factor, 10, 20, 6}, Spectrum::inverse)},
      {"half_trip", one(1200, 3, one_trip(10, 20, 6), Spectrum::inverse)},
      {"half_trip_odd", one(945, 2, one_trip(5, 21, 9), Spectrum::inverse)},
      {"one_trip_odd", one(945, 2, one_trip(21, 9, 5), Spectrum::forward)},
      {"halved", one(600, 3, {Kind::two_factor, 1, 15, 20, 1, true}, Spectrum::forward)},
      {"halved_back", one(600, 20, {Kind::two_factor, 1, 15, 20, 1, true}, Spectrum::inverse)},
      {"rader", one(257, 3, {Kind::rader, 1, 16, 16})},
      {"rader_pairs", one(257, 4, {Kind::rader, 1, 16, 16, 1, false, true}, Spectrum::forward)},
      {"double_direct", double_transform({.n = 30, .rows = 3}, t)},
      {"double_steps", double_transform({.n = 600, .rows = 3}, t)},
      {"double_bluestein", double_transform({.n = 263, .rows = 2}, t)},
      {"complex_multiply", complex_multiply(1000, t)},
      {"mod_relu", mod_relu(130, 20, t)},
      {"mod_relu_backward", mod_relu_backward(130, 20, t)},
      {"frames_product", frames_product({.rows = 2, .samples = 900, .size = 60, .hop = 7, .width = 62}, t)},
      {"frames_reflected",
       frames_product(
           {.rows = 2, .samples = 900, .size = 60, .hop = 7, .width = 62, .border = Border::reflect, .pad = 30}, t)},
      {"frames_weighed",
       frames_product(
           {.rows = 2, .samples = 620, .size = 248, .hop = 62, .width = 15, .pad = 186, .kept = 150, .first = 30}, t)},
  };
}

}  // namespace kiln::kernels::test
