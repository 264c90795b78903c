#include "kernels/fft/host/elementwise.h"

#include <fmt/format.h>

#include "kernels/blas/complex_gemm.h"
#include "kernels/fft/elementwise.h"
#include "kernels/fft/elementwise_double.h"

namespace kiln::fft {
namespace {

backend::Array array(std::string name, const float* data, std::vector<std::int64_t> shape) {
  return {std::move(name), const_cast<float*>(data), std::move(shape), DType::float32};
}

backend::Call multiply_call(std::int64_t count) {
  return {.library = "FFT",
          .operation = "complex_multiply",
          .key = fmt::format("{}", count),
          .program = [count](Target t) { return kernels::complex_multiply(count, t); },
          .arrays = {}};
}

backend::Call mod_relu_call(std::int64_t rows, std::int64_t features) {
  return {.library = "FFT",
          .operation = "mod_relu",
          .key = fmt::format("{}x{}", rows, features),
          .program = [rows, features](Target t) { return kernels::mod_relu(rows, features, t); },
          .arrays = {}};
}

backend::Call frames_call(const FramesConfig& c) {
  return {.library = "FFT",
          .operation = "frames_product",
          .key = fmt::format("{} {} {} {} {} {} {} {} {} {}", c.rows, c.samples, c.size, c.hop, c.width,
                             static_cast<int>(c.border), c.pad, c.unit, c.kept, c.first),
          .program = [c](Target t) { return kernels::frames_product(c, t); },
          .arrays = {}};
}

}  // namespace

void complex_multiply(std::int64_t count, const float* x, const float* y, float* z, backend::Backend backend) {
  backend::Call call = multiply_call(count);
  call.arrays = {array("x", x, {1, 2 * count}), array("t", y, {1, 2 * count}), array("y", z, {1, 2 * count})};
  backend::run(call, backend);
}

void mod_relu(std::int64_t rows, std::int64_t features, const float* x, const float* bias, float* y,
              backend::Backend backend) {
  backend::Call call = mod_relu_call(rows, features);
  call.arrays = {array("x", x, {rows, 2 * features}), array("bias", bias, {1, features}),
                 array("y", y, {rows, 2 * features})};
  backend::run(call, backend);
}

void mod_relu_backward(std::int64_t rows, std::int64_t features, const float* x, const float* bias,
                       const float* gradient, float* dx, float* dbias, backend::Backend backend) {
  const backend::Call call{
      .library = "FFT",
      .operation = "mod_relu_backward",
      .key = fmt::format("{}x{}", rows, features),
      .program = [rows, features](Target t) { return kernels::mod_relu_backward(rows, features, t); },
      .arrays = {array("x", x, {rows, 2 * features}), array("bias", bias, {1, features}),
                 array("gradient", gradient, {rows, 2 * features}), array("dx", dx, {rows, 2 * features}),
                 array("dbias", dbias, {1, features})}};
  backend::run(call, backend);
}

namespace {

void add(backend::Call& call, const std::string& name, const float* const* parts, std::int64_t size) {
  for (int i = 0; i < 2; ++i) call.arrays.push_back(array(name + std::to_string(i), parts[i], {1, size}));
}

}  // namespace

void complex_multiply_double(std::int64_t count, const ConstPair& x, const ConstPair& y, const Pair& z,
                             backend::Backend backend) {
  backend::Call call{.library = "FFT",
                     .operation = "complex_multiply",
                     .key = fmt::format("{} double", count),
                     .program = [count](Target t) { return kernels::complex_multiply_double(count, t); },
                     .arrays = {}};
  add(call, "x", x.part, 2 * count);
  add(call, "factor", y.part, 2 * count);
  add(call, "y", z.part, 2 * count);
  backend::run(call, backend);
}

void mod_relu_double(std::int64_t count, const ConstPair& x, const float* ratio, const ConstPair& bias,
                     const ConstPair& least, const Pair& y, backend::Backend backend) {
  backend::Call call{.library = "FFT",
                     .operation = "mod_relu",
                     .key = fmt::format("{} double", count),
                     .program = [count](Target t) { return kernels::mod_relu_double(count, t); },
                     .arrays = {}};
  add(call, "x", x.part, 2 * count);
  call.arrays.push_back(array("ratio", ratio, {1, count}));
  add(call, "bias", bias.part, count);
  add(call, "least", least.part, count);
  add(call, "y", y.part, 2 * count);
  backend::run(call, backend);
}

void frames_product(const FramesConfig& c, const float* x, const float* matrix, const float* weight, float* y,
                    backend::Backend backend) {
  backend::Call call = frames_call(c);
  call.arrays = {array("x", x, {c.rows, c.samples}), array("matrix", matrix, {c.size, c.width})};
  if (c.kept) call.arrays.push_back(array("weight", weight, {1, c.kept}));
  call.arrays.push_back(c.kept ? array("y", y, {c.rows, c.kept}) : array("y", y, {c.rows, c.frames(), c.width}));
  backend::run(call, backend);
}

void complex_gemm(std::int64_t m, std::int64_t n, std::int64_t k, int products, const float* a, const float* b,
                  float* c, backend::Backend backend) {
  const kernels::ComplexGemmConfig config{.m = m, .n = n, .k = k, .products = products};
  const backend::Call call{.library = "FFT",
                           .operation = "complex_gemm",
                           .key = fmt::format("{}x{}x{} {}", m, n, k, products),
                           .program = [config](Target t) { return kernels::complex_gemm(config, t); },
                           .arrays = {array("a", a, {m, 2 * k}), array("b", b, {k, 2 * n}), array("c", c, {m, 2 * n})}};
  backend::run(call, backend);
}

void note_complex_multiply(std::int64_t count) { backend::note_native(multiply_call(count)); }
void note_mod_relu(std::int64_t rows, std::int64_t features) { backend::note_native(mod_relu_call(rows, features)); }
void note_frames_product(const FramesConfig& c) { backend::note_native(frames_call(c)); }

}  // namespace kiln::fft
