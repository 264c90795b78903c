// Predicted times of the BLAS and MP2 kernels, each beside its bar. bench/libraries/run drives it.
#include "bench/libraries/blas_bars.h"

#include <fmt/format.h>

#include "bench/timing_kernels.h"
#include "kernels/blas/batched_gemm.h"
#include "kernels/blas/cholesky.h"
#include "kernels/blas/complex_gemm.h"
#include "kernels/blas/double_gemm.h"
#include "kernels/blas/mp2.h"
#include "kernels/blas/syrk.h"
#include "kernels/blas/trsm.h"
#include "kiln/check/check_program.h"
#include "kiln/views/timed_kernel.h"

namespace kiln::bench {

double predicted_ns(const isa::Program& program) {
  const check::Report report = check::check_program(program, arch(program.target));
  if (!report.ok()) throw Error(report.diagnostics);
  return views::time_kernel({program}, {.advice = false})->report.total_ns;
}

double peak(DType dtype, Target target) {
  const Arch& a = arch(target);
  const double passes = dtype == DType::float32 ? a.matmul_fp32_passes : 1;
  return 2.0 * a.matmul_rows * a.matmul_columns * a.tensor.clock_ghz / passes;
}

Bar original(const std::string& what, double time, double measured_ms) {
  return {what + ", s against the original", "trn1", time, time / 1e9, (measured_ms - 0.67) / 1e3};
}

namespace {

using namespace kernels;

constexpr Target kTrn1 = Target::trn1, kTrn2 = Target::trn2;
constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;

double ns(const isa::Program& program) { return predicted_ns(program); }

double gemm_ns(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype, Target target, bool trans_b = false) {
  return ns(gemm({.m = m, .n = n, .k = k, .trans_b = trans_b, .dtype = dtype}, target));
}

Bar share_of_peak(std::int64_t n, DType dtype, double bar) {
  const double time = gemm_ns(n, n, n, dtype, kTrn2), flops = 2.0 * static_cast<double>(n * n * n);
  return {"gemm " + std::string(name(dtype)) + " " + std::to_string(n) + "^3, share of peak",
          "trn2",
          time,
          flops / time / peak(dtype, kTrn2),
          bar,
          true};
}

Bar ratio(std::string what, double time, double to, double bar) {
  return {std::move(what), "trn2", time, time / to, bar};
}

Bar syrk_bar(std::int64_t n, std::int64_t k, double bar) {
  return ratio("syrk " + std::to_string(n) + "x" + std::to_string(k) + " of its gemm",
               ns(syrk({.n = n, .k = k}, kTrn2)), gemm_ns(n, n, k, kF32, kTrn2, true), bar);
}

}  // namespace

std::vector<Bar> blas_bars() {
  std::vector<Bar> bars{share_of_peak(2048, kBf16, 0.80), share_of_peak(1024, kBf16, 0.65),
                        share_of_peak(2048, kF32, 0.70), share_of_peak(1024, kF32, 0.55)};
  const Params tutorial({{"m", "4096"}, {"k", "8192"}, {"n", "8192"}, {"dtype", "bf16"}});
  bars.push_back(ratio("gemm bfloat16 4096x8192x8192 of the tutorial's", gemm_ns(4096, 8192, 8192, kBf16, kTrn2),
                       ns(timing_kernel("blocked", tutorial)), 1.05));
  bars.push_back(ratio("32 x (256, 128, 256) of one gemm",
                       ns(batched_gemm({.each = {.m = 256, .n = 256, .k = 128}, .batch = 32}, kTrn2)),
                       gemm_ns(32 * 256, 256, 128, kF32, kTrn2), 1.3));
  bars.push_back(syrk_bar(2048, 512, 0.6));
  bars.push_back(syrk_bar(2048, 2048, 0.6));
  bars.push_back(syrk_bar(1024, 1024, 0.6));
  bars.push_back(ratio("trsm 2048x512 of a gemm of its work", ns(trsm({.m = 2048, .n = 512}, kTrn2)),
                       gemm_ns(2048, 512, 1024, kF32, kTrn2), 2.5));
  return bars;
}

std::vector<Bar> mp2_bars() {
  const auto energy = [](const char* what, std::int64_t o, std::int64_t v, std::int64_t x, double bar) {
    const double time = ns(mp2_energy(o, v, x, kTrn1));
    return Bar{what, "trn1", time, time / 1e9, bar};
  };
  return {energy("mp2 small (16, 112, 384), s", 16, 112, 384, 0.005),
          energy("mp2 medium (64, 448, 1536), s", 64, 448, 1536, 0.09),
          energy("mp2 large (96, 672, 2304), s", 96, 672, 2304, 0.7)};
}

// DF-MP2 from integrals to the energy, as examples/df_mp2.py does it, against what the original measured warm: steps
// and total, each less the 0.67 ms of a launch.
std::vector<Bar> df_mp2_bars() {
  struct Measured {
    const char* shape;
    std::int64_t n, o, x;
    double factor_s, half_s, metric_s, energy_s, total_s;  // 0: not told
  };
  std::vector<Bar> bars;
  for (const Measured& d : {Measured{"small", 128, 16, 384, 0, 0, 0, 0.005, 0.081},
                            {"medium", 512, 64, 1536, 0.061, 2.814, 0.318, 1.536, 4.784},
                            {"large", 768, 96, 2304, 12.5, 30.4, 2.0, 30.13, 35.76}}) {
    const std::int64_t v = d.n - d.o;
    double total = 0;
    const auto step = [&](const char* what, double time, double measured_s) {
      total += time;
      if (measured_s > 0) bars.push_back(original(fmt::format("df-mp2 {}, {}", d.shape, what), time, measured_s * 1e3));
    };
    step("factor", ns(cholesky(d.x, Uplo::lower, kTrn1)), d.factor_s);
    const GemmConfig second{.m = v, .n = d.x, .k = d.n, .trans_a = true};
    step("half transforms",
         ns(gemm({.m = d.o, .n = d.n * d.x, .k = d.n, .trans_a = true}, kTrn1)) +
             ns(batched_gemm({.each = second, .batch = d.o, .shares_a = true}, kTrn1)),
         d.half_s);
    step("metric", ns(trsm({.m = d.o * v, .n = d.x, .side = Side::right, .trans = true}, kTrn1)), d.metric_s);
    step("energy", ns(mp2_energy(d.o, v, d.x, kTrn1)), d.energy_s);
    bars.push_back(original(fmt::format("df-mp2 {}, total", d.shape), total, d.total_s * 1e3));
  }
  bars.push_back(original("pairs (16, 384, 512)", ns(mp2_energy(16, 384, 512, kTrn1)), 38.7));
  bars.push_back(original("pairs (4, 256, 256)", ns(mp2_energy(4, 256, 256, kTrn1)), 1.9));
  bars.push_back(original("reduction (64, 64, 448)", ns(mp2_reduce(64, 64, 448, kTrn1)), 214));
  return bars;
}

std::vector<Bar> original_bars() {
  std::vector<Bar> bars{original("gemm 512^3", gemm_ns(512, 512, 512, kF32, kTrn1), 1.3),
                        original("gemm 1024^3", gemm_ns(1024, 1024, 1024, kF32, kTrn1), 2.3),
                        original("32 x (256, 128, 256)",
                                 ns(batched_gemm({.each = {.m = 256, .n = 256, .k = 128}, .batch = 32}, kTrn1)), 39.3)};
  struct Measured {
    std::int64_t m, n;
    double syrk_ms, trsm_ms;
  };
  for (const Measured& x : {Measured{512, 512, 2.14, 5.59},
                            {1024, 512, 6.21, 13.27},
                            {1024, 1024, 5.71, 18.72},
                            {2048, 512, 23.89, 35.82}}) {
    const std::string size = std::to_string(x.m) + "x" + std::to_string(x.n);
    bars.push_back(original("syrk " + size, ns(syrk({.n = x.m, .k = x.n}, kTrn1)), x.syrk_ms));
    bars.push_back(original("trsm " + size, ns(trsm({.m = x.m, .n = x.n}, kTrn1)), x.trsm_ms));
  }
  return bars;
}

std::vector<Bar> other_figures() {
  std::vector<Bar> rows;
  const auto add = [&](std::string what, double time, double to) {
    rows.push_back(ratio(std::move(what), time, to, 0));
  };
  const double fp32 = gemm_ns(1024, 1024, 1024, kF32, kTrn2);
  const auto split = [](Precision p) { return ns(gemm({.m = 1024, .n = 1024, .k = 1024, .precision = p}, kTrn2)); };
  add("gemm 1024^3 as bf16 of float32", split(Precision::bf16), fp32);
  add("gemm 1024^3 as bf16x3 of float32", split(Precision::bf16x3), fp32);
  add("gemm 1024^3 as bf16x6 of float32", split(Precision::bf16x6), fp32);
  add("complex gemm 1024^3, 4 products, of float32", ns(complex_gemm({.m = 1024, .n = 1024, .k = 1024}, kTrn2)), fp32);
  add("complex gemm 1024^3, 3 products, of float32",
      ns(complex_gemm({.m = 1024, .n = 1024, .k = 1024, .products = 3}, kTrn2)), fp32);
  add("double gemm 1024^3 of float32", ns(double_gemm({.m = 1024, .n = 1024, .k = 1024}, kTrn2)), fp32);
  add("cholesky 1536 of a gemm of 1024^3", ns(cholesky(1536, Uplo::lower, kTrn2)), fp32);
  return rows;
}

}  // namespace kiln::bench
