// Predicted times of the FFT kernels, each beside its bar. bench/libraries/run drives it.
#include "bench/libraries/fft_bars.h"

#include <algorithm>

#include "kernels/blas/complex_gemm.h"
#include "kernels/fft/elementwise.h"
#include "kernels/fft/frames.h"
#include "kernels/fft/host/plan.h"

namespace kiln::bench {
namespace {

using kernels::Spectrum;

constexpr Target kTrn1 = Target::trn1;

fft::Plan plan(std::int64_t n, std::int64_t rows, Target target, Spectrum spectrum = Spectrum::whole) {
  return {{.n = n, .rows = rows, .spectrum = spectrum}, target};
}

double fft_ns(std::int64_t n, std::int64_t rows, Target target, Spectrum spectrum = Spectrum::whole) {
  return predicted_ns(plan(n, rows, target, spectrum).program(target));
}

// The least time of a plan on the chip: bytes in and out once at the rate of all DMA engines, and four real products
// for each factor at the float32 rate of the tensor engine.
double roofline_ns(const fft::Plan& p, Target target) {
  const Arch& a = arch(target);
  const kernels::Way& way = p.way();
  const double numbers = static_cast<double>(p.config().n * p.config().rows);
  const double moved = 2 * 8 * numbers / (a.dma.engines * a.dma.bytes_per_ns);
  const double columns = numbers * (way.n0 > 1 ? 3 : 2) / a.matmul_rows;
  return std::max(moved, columns * 4 * a.matmul_fp32_passes / a.tensor.clock_ghz);
}

Bar over_roofline(const std::string& what, std::int64_t n, std::int64_t rows, Target target, double bar) {
  const fft::Plan p = plan(n, rows, target);
  const double time = predicted_ns(p.program(target));
  return {"fft " + what + " of its roofline", std::string(arch(target).name), time, time / roofline_ns(p, target), bar};
}

Bar half(const char* what, std::int64_t rows, std::int64_t n, Spectrum spectrum, Target target, double bar) {
  const double time = fft_ns(n, rows, target, spectrum);
  return {std::string(what) + " (" + std::to_string(rows) + ", " + std::to_string(n) + ") of fft",
          std::string(arch(target).name), time, time / fft_ns(n, rows, target), bar};
}

// A prime length that Rader's algorithm takes, over one near it that it cannot.
Bar rader(Target target) {
  const double time = fft_ns(4051, 128, target);
  return {"fft (128, 4051) of fft (128, 4079)", std::string(arch(target).name), time, time / fft_ns(4079, 128, target),
          0};
}

// On two cores over one; for trn2, which is the target of the backend.
Bar on_pair(const std::string& what, const fft::TransformConfig& c) {
  const double time = fft::pair_ns(c);
  return {what + " on a pair of one core", "trn2", time, time / fft_ns(c.n, c.rows, Target::trn2, c.spectrum), 0};
}

double stft_ns(std::int64_t samples, std::int64_t size, std::int64_t hop, Target target) {
  return predicted_ns(kernels::frames_product({.samples = samples,
                                               .size = size,
                                               .hop = hop,
                                               .width = 2 * (size / 2 + 1),
                                               .border = kernels::Border::reflect,
                                               .pad = size / 2},
                                              target));
}

// Window, inverse transform, sum and division of as many frames as the signal has.
double istft_ns(std::int64_t samples, std::int64_t size, std::int64_t hop, Target target) {
  const std::int64_t frames = samples / hop + 1, numbers = 2 * (size / 2 + 1), overlap = (size + hop - 1) / hop;
  return predicted_ns(kernels::frames_product({.samples = frames * numbers,
                                               .size = overlap * numbers,
                                               .hop = numbers,
                                               .width = hop,
                                               .pad = (overlap - 1) * numbers,
                                               .kept = samples,
                                               .first = size / 2},
                                              target));
}

Bar complex_gemm_bar(int products, Target target) {
  const double n = 1024;
  const double time =
      predicted_ns(kernels::complex_gemm({.m = 1024, .n = 1024, .k = 1024, .products = products}, target));
  return {"complex gemm 1024^3, " + std::to_string(products) + " products, share of peak",
          std::string(arch(target).name),
          time,
          8 * n * n * n / time / peak(DType::float32, target),
          0.6,
          true};
}

}  // namespace

std::vector<Bar> fft_bars() {
  std::vector<Bar> bars;
  for (const Target t : {kTrn1, Target::trn2}) {
    bars.push_back(over_roofline("(128, 4096)", 4096, 128, t, 2));
    bars.push_back(over_roofline("2^20", 1 << 20, 1, t, 2.5));
  }
  const double stft = stft_ns(16000, 512, 128, kTrn1);
  bars.push_back({"stft 16000 samples, n_fft 512, us", "trn1", stft, stft / 1e3, 60});
  const double istft = istft_ns(16000, 512, 128, kTrn1);
  bars.push_back({"istft 16000 samples, n_fft 512, us", "trn1", istft, istft / 1e3, 60});
  for (const Target t : {kTrn1, Target::trn2}) {
    bars.push_back(half("rfft", 128, 4096, Spectrum::forward, t, 0.6));
    bars.push_back(half("irfft", 128, 4096, Spectrum::inverse, t, 0.6));
    bars.push_back(half("rfft", 32, 65536, Spectrum::forward, t, 0.6));
    bars.push_back(half("irfft", 32, 65536, Spectrum::inverse, t, 0.6));
    bars.push_back(half("rfft", 1, 1 << 20, Spectrum::forward, t, 0.6));
    bars.push_back(half("irfft", 1, 1 << 20, Spectrum::inverse, t, 0.6));
    bars.push_back(half("rfft", 128, 1024, Spectrum::forward, t, 0.6));
    bars.push_back(half("irfft", 128, 1024, Spectrum::inverse, t, 0.6));
    for (const std::int64_t n : {20000, 32768, 65536, 1 << 17, 1 << 18}) {
      bars.push_back(half("rfft", 1, n, Spectrum::forward, t, 0.6));
      bars.push_back(half("irfft", 1, n, Spectrum::inverse, t, 0.6));
    }
    bars.push_back(half("rfft", 1, 2 * 4099, Spectrum::forward, t, 0.6));
    for (const std::int64_t n : {4099, 4051}) {
      bars.push_back(half("rfft", 128, n, Spectrum::forward, t, 0.6));
      bars.push_back(half("irfft", 128, n, Spectrum::inverse, t, 0.6));
    }
    bars.push_back(half("rfft", 16, 59049, Spectrum::forward, t, 0.6));
    bars.push_back(half("irfft", 16, 59049, Spectrum::inverse, t, 0.6));
    bars.push_back(half("rfft", 1, 59049, Spectrum::forward, t, 0.6));
    bars.push_back(half("irfft", 1, 59049, Spectrum::inverse, t, 0.6));
    bars.push_back(rader(t));
  }
  bars.push_back(on_pair("fft (128, 4096)", {.n = 4096, .rows = 128}));
  bars.push_back(on_pair("fft 2^20", {.n = 1 << 20}));
  for (const std::int64_t n : {4096, 16384, 65536}) bars.push_back(on_pair("fft " + std::to_string(n), {.n = n}));
  bars.push_back(on_pair("rfft 2^20", {.n = 1 << 20, .spectrum = Spectrum::forward}));
  bars.push_back(on_pair("irfft 2^20", {.n = 1 << 20, .spectrum = Spectrum::inverse}));
  bars.push_back(on_pair("fft 524309", {.n = 524309}));
  for (const int products : {4, 3}) bars.push_back(complex_gemm_bar(products, Target::trn2));
  return bars;
}

std::vector<Bar> fft_original_bars() {
  std::vector<Bar> bars;
  struct Measured {
    std::int64_t n, rows;
    double ms;
  };
  for (const Measured& x : {Measured{8, 1, 1.716},
                            {16, 1, 1.687},
                            {32, 1, 1.679},
                            {64, 1, 1.189},
                            {128, 1, 1.208},
                            {256, 1, 1.310},
                            {512, 1, 2.126},
                            {1024, 1, 2.954},
                            {2048, 1, 5.984},
                            {4096, 1, 5.917},
                            {16384, 1, 131.766},
                            {65536, 1, 555.985},
                            {128, 32, 1.088},
                            {256, 32, 1.214},
                            {1024, 32, 25.399},
                            {1024, 128, 52.993},
                            {127, 1, 31.421},
                            {997, 1, 82.359},
                            {4097, 1, 433.125}})
    bars.push_back(original("fft (" + std::to_string(x.rows) + ", " + std::to_string(x.n) + ")",
                            fft_ns(x.n, x.rows, kTrn1), x.ms));
  for (const Measured& x : {Measured{64, 64, 15.063}, {256, 256, 44.827}, {1024, 1024, 537.624}})
    bars.push_back(original("fft2 " + std::to_string(x.n) + "^2", 2 * fft_ns(x.n, x.rows, kTrn1), x.ms));
  bars.push_back(original("fftn (8, 16, 16)", 2 * fft_ns(16, 128, kTrn1) + fft_ns(8, 256, kTrn1), 14.076));
  bars.push_back(original("fftn (32, 64, 64)", 2 * fft_ns(64, 2048, kTrn1) + fft_ns(32, 4096, kTrn1), 70.157));
  for (const Measured& x : {Measured{128, 0, 1.494}, {256, 0, 1.686}, {512, 0, 2.294}, {1024, 0, 4.824}})
    bars.push_back(original("complex gemm " + std::to_string(x.n) + "^3",
                            predicted_ns(kernels::complex_gemm({.m = x.n, .n = x.n, .k = x.n}, kTrn1)), x.ms));
  for (const Measured& x : {Measured{256, 128, 1.659}, {1024, 512, 3.269}})
    bars.push_back(original("complex linear " + std::to_string(x.rows) + " to " + std::to_string(x.n),
                            predicted_ns(kernels::complex_gemm(
                                {.m = x.rows, .n = x.n, .k = x.rows, .op_b = kernels::Op::transpose}, kTrn1)),
                            x.ms));
  for (const Measured& x : {Measured{32, 64, 1.413}, {128, 256, 1.528}, {512, 1024, 2.966}})
    bars.push_back(original("mask " + std::to_string(x.rows) + "x" + std::to_string(x.n),
                            predicted_ns(kernels::complex_multiply(x.n * x.rows, kTrn1)), x.ms));
  bars.push_back(original("stft n_fft 128", stft_ns(16000, 128, 64, kTrn1), 1.127));
  bars.push_back(original("stft n_fft 256", stft_ns(16000, 256, 128, kTrn1), 1.214));
  bars.push_back(original("stft n_fft 512", stft_ns(16000, 512, 128, kTrn1), 29.339));
  return bars;
}

}  // namespace kiln::bench
