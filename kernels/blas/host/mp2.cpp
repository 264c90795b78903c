// The native energies are those of the formulas in float64, with products by OpenBLAS.
#include "kernels/blas/host/mp2.h"

#include <array>

#include "kernels/blas/host/arguments.h"
#include "kernels/blas/host/device_call.h"
#include "kernels/blas/host/native.h"
#include "kernels/blas/host/wide.h"
#include "kernels/blas/host/wide_mp2.h"
#include "kernels/blas/mp2.h"

namespace kiln::blas {
namespace {

// Σ_ab T_ab (2 T_ab - T_ba) / (e_ij - e_a - e_b); t is v x v, rows ld apart.
template <class T>
double pair_sum(Int v, const T* t, Int ld, double e_ij, const T* eps_vir) {
  double total = 0;
  for (Int a = 0; a < v; ++a) {
    double row = 0;
    for (Int b = 0; b < v; ++b) {
      const double ab = t[a * ld + b], ba = t[b * ld + a];
      row += ab * (2 * ab - ba) / (e_ij - eps_vir[a] - eps_vir[b]);
    }
    total += row;
  }
  return total;
}

template <class T>
void amplitudes(Int v, Int x, const T* b_i, const T* b_j, T* t) {
  native::gemm(Layout::row_major, Transpose::no_trans, Transpose::trans, v, v, x, T(1), b_i, x, b_j, x, T(0), t, v);
}

// Runs the kernel, whose result is the sum of two numbers.
template <class T, class Native>
double energy_of(std::string_view name, KernelOf kernel, std::vector<Array> arrays, Native&& native) {
  double out = 0;
  dispatch_as<T>(
      std::string(name), std::move(kernel), [&] { out = native(); },
      [&](auto run) {
        std::array<float, 2> energy{};
        arrays.push_back(array("energy", energy.data(), {1, 2}));
        run(std::move(arrays));
        out = static_cast<double>(energy[0]) + static_cast<double>(energy[1]);
      });
  return out;
}

}  // namespace

template <class T>
double mp2_energy(Int o, Int v, Int x, const T* b, const T* eps_occ, const T* eps_vir) {
  Arguments("mp2_energy").size("occupied", o).size("virtual", v).size("auxiliary", x);
  if (o == 0 || v == 0 || x == 0) return 0;
  if constexpr (is_wide<T>) {
    if (!is_native()) return wide_mp2_energy(o, v, x, b, eps_occ, eps_vir);
  }
  return energy_of<T>(
      "mp2_energy", {fmt::format("{} {} {}", o, v, x), [=](Target t) { return kernels::mp2_energy(o, v, x, t); }},
      {array("b", b, {o, v, x}), array("eps_occ", eps_occ, {1, o}), array("eps_vir", eps_vir, {1, v})}, [&] {
        std::vector<T> t(static_cast<std::size_t>(v * v));
        double total = 0;
        for (Int i = 0; i < o; ++i) {
          for (Int j = 0; j <= i; ++j) {
            amplitudes(v, x, b + i * v * x, b + j * v * x, t.data());
            total += (i == j ? 1 : 2) * pair_sum(v, t.data(), v, double(eps_occ[i]) + eps_occ[j], eps_vir);
          }
        }
        return total;
      });
}

template <class T>
double mp2_pair_energy(Int v, Int x, const T* b_i, const T* b_j, T eps_i, T eps_j, const T* eps_vir) {
  Arguments("mp2_pair_energy").size("virtual", v).size("auxiliary", x);
  if (v == 0 || x == 0) return 0;
  if constexpr (is_wide<T>) {
    if (!is_native()) return wide_mp2_pair_energy(v, x, b_i, b_j, eps_i + eps_j, eps_vir);
  }
  const std::array<T, 2> eps_ij = {eps_i, eps_j};
  return energy_of<T>("mp2_pair_energy",
                      {fmt::format("{} {}", v, x), [=](Target t) { return kernels::mp2_pair_energy(v, x, t); }},
                      {array("b_i", b_i, {v, x}), array("b_j", b_j, {v, x}), array("eps_ij", eps_ij.data(), {1, 2}),
                       array("eps_vir", eps_vir, {1, v})},
                      [&] {
                        std::vector<T> t(static_cast<std::size_t>(v * v));
                        amplitudes(v, x, b_i, b_j, t.data());
                        return pair_sum(v, t.data(), v, double(eps_i) + eps_j, eps_vir);
                      });
}

template <class T>
double mp2_reduce(Int chunk, Int o, Int v, const T* t, const T* eps_chunk, const T* eps_occ, const T* eps_vir) {
  Arguments("mp2_reduce").size("chunk", chunk).size("occupied", o).size("virtual", v);
  if (chunk == 0 || o == 0 || v == 0) return 0;
  if constexpr (is_wide<T>) {
    if (!is_native()) return wide_mp2_reduce(chunk, o, v, t, eps_chunk, eps_occ, eps_vir);
  }
  return energy_of<T>(
      "mp2_reduce",
      {fmt::format("{} {} {}", chunk, o, v), [=](Target tg) { return kernels::mp2_reduce(chunk, o, v, tg); }},
      {array("t", t, {chunk * v, o * v}), array("eps_chunk", eps_chunk, {1, chunk}), array("eps_occ", eps_occ, {1, o}),
       array("eps_vir", eps_vir, {1, v})},
      [&] {
        double total = 0;
        for (Int i = 0; i < chunk; ++i) {
          for (Int j = 0; j < o; ++j) {
            total += pair_sum(v, t + i * v * o * v + j * v, o * v, double(eps_chunk[i]) + eps_occ[j], eps_vir);
          }
        }
        return total;
      });
}

#define KILN_MP2(T)                                                              \
  template double mp2_energy(Int, Int, Int, const T*, const T*, const T*);       \
  template double mp2_pair_energy(Int, Int, const T*, const T*, T, T, const T*); \
  template double mp2_reduce(Int, Int, Int, const T*, const T*, const T*, const T*);
KILN_MP2(float)
KILN_MP2(double)

}  // namespace kiln::blas
