#include "kernels/blas/host/wide_mp2.h"

#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "kernels/blas/host/device_call.h"
#include "kernels/blas/host/mp2.h"
#include "kernels/blas/mp2_double.h"

namespace kiln::blas {
namespace {

// Numbers as sums of two floats, divided by a power of two.
struct Cut {
  std::vector<float> high, low;
};
Cut cut(std::span<const double> values, int exponent = 0) {
  Cut out{std::vector<float>(values.size()), std::vector<float>(values.size())};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scaled = std::ldexp(values[i], -exponent);
    out.high[i] = static_cast<float>(scaled);
    out.low[i] = static_cast<float>(scaled - out.high[i]);
  }
  return out;
}

// The power of two above the largest magnitude; nothing when a value is no number.
std::optional<int> exponent_of(std::span<const double> values) {
  double most = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) return std::nullopt;
    most = std::max(most, std::fabs(v));
  }
  int exponent = 0;
  std::frexp(most, &exponent);
  return exponent;
}

std::vector<float> rounded(std::span<const double> values) { return {values.begin(), values.end()}; }

void add(std::vector<Array>& arrays, const std::string& name, const Cut& values, std::vector<Int> shape) {
  arrays.push_back(array(name + "0", values.high.data(), shape));
  arrays.push_back(array(name + "1", values.low.data(), std::move(shape)));
}

double run_kernel(std::string name, KernelOf kernel, std::vector<Array> arrays, int exponent) {
  std::array<float, 2> energy{};
  arrays.push_back(array("energy", energy.data(), {1, 2}));
  kernel.key += " double";
  dispatch_as<float>(
      std::move(name), std::move(kernel), [] {}, [&](auto run) { run(std::move(arrays)); });
  return std::ldexp(static_cast<double>(energy[0]) + energy[1], exponent);
}

std::span<const double> span_of(const double* data, Int size) { return {data, static_cast<std::size_t>(size)}; }

}  // namespace

double wide_mp2_energy(Int o, Int v, Int x, const double* b, const double* eps_occ, const double* eps_vir) {
  const auto exponent = exponent_of(span_of(b, o * v * x));
  if (!exponent)  // infinities and NaN travel as they do in float32
    return mp2_energy<float>(o, v, x, rounded(span_of(b, o * v * x)).data(), rounded(span_of(eps_occ, o)).data(),
                             rounded(span_of(eps_vir, v)).data());
  const Int reach = (o - 1) / 2, distances = o / 2 + 1;
  std::vector<double> ring(b, b + o * v * x), sums;
  ring.insert(ring.end(), b, b + reach * v * x);
  for (Int d = 0; d < distances; ++d) {
    for (Int i = 0; i < o; ++i) sums.push_back(eps_occ[i] + eps_occ[(i + d) % o]);
  }
  const Cut panels = cut(ring, *exponent), e = cut(sums), vir = cut(span_of(eps_vir, v));
  std::vector<Array> arrays;
  add(arrays, "b", panels, {o + reach, v, x});
  add(arrays, "e", e, {distances, o});
  add(arrays, "v", vir, {1, v});
  return run_kernel(
      "mp2_energy",
      {fmt::format("{} {} {}", o, v, x), [=](Target t) { return kernels::mp2_energy_double(o, v, x, t); }},
      std::move(arrays), 4 * *exponent);
}

double wide_mp2_pair_energy(Int v, Int x, const double* b_i, const double* b_j, double eps_ij, const double* eps_vir) {
  const auto of_i = exponent_of(span_of(b_i, v * x)), of_j = exponent_of(span_of(b_j, v * x));
  if (!of_i || !of_j)
    return mp2_pair_energy<float>(v, x, rounded(span_of(b_i, v * x)).data(), rounded(span_of(b_j, v * x)).data(),
                                  static_cast<float>(eps_ij), 0.0f, rounded(span_of(eps_vir, v)).data());
  const Cut first = cut(span_of(b_i, v * x), *of_i), second = cut(span_of(b_j, v * x), *of_j);
  const Cut e = cut({&eps_ij, 1}), vir = cut(span_of(eps_vir, v));
  std::vector<Array> arrays;
  add(arrays, "b_i", first, {v, x});
  add(arrays, "b_j", second, {v, x});
  add(arrays, "e", e, {1, 1});
  add(arrays, "v", vir, {1, v});
  return run_kernel("mp2_pair_energy",
                    {fmt::format("{} {}", v, x), [=](Target t) { return kernels::mp2_pair_energy_double(v, x, t); }},
                    std::move(arrays), 2 * (*of_i + *of_j));
}

double wide_mp2_reduce(Int chunk, Int o, Int v, const double* t, const double* eps_chunk, const double* eps_occ,
                       const double* eps_vir) {
  const Int size = chunk * v * o * v;
  const auto exponent = exponent_of(span_of(t, size));
  if (!exponent)
    return mp2_reduce<float>(chunk, o, v, rounded(span_of(t, size)).data(), rounded(span_of(eps_chunk, chunk)).data(),
                             rounded(span_of(eps_occ, o)).data(), rounded(span_of(eps_vir, v)).data());
  std::vector<double> sums;
  for (Int i = 0; i < chunk; ++i) {
    for (Int j = 0; j < o; ++j) sums.push_back(eps_chunk[i] + eps_occ[j]);
  }
  const Cut amplitudes = cut(span_of(t, size), *exponent), e = cut(sums), vir = cut(span_of(eps_vir, v));
  std::vector<Array> arrays;
  add(arrays, "amplitudes", amplitudes, {chunk * v, o * v});
  add(arrays, "e", e, {chunk, o});
  add(arrays, "v", vir, {1, v});
  return run_kernel(
      "mp2_reduce",
      {fmt::format("{} {} {}", chunk, o, v), [=](Target g) { return kernels::mp2_reduce_double(chunk, o, v, g); }},
      std::move(arrays), 2 * *exponent);
}

}  // namespace kiln::blas
