// kiln::fft for Python: transforms of rows on addresses of arrays that Python keeps alive.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "kernels/backend/backend.h"
#include "kernels/fft/host/double_plan.h"
#include "kernels/fft/host/elementwise.h"
#include "kernels/fft/host/plan.h"
#include "kernels/fft/host/row_errors.h"
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

using FftAddress = std::uintptr_t;

const float* fft_in(FftAddress a) {
  return reinterpret_cast<const float*>(a);
}  // NOLINT: of an array that Python holds
float* fft_out(FftAddress a) { return reinterpret_cast<float*>(a); }  // NOLINT

backend::Backend fft_backend() { return backend::current("FFT"); }

fft::TransformConfig fft_config(std::int64_t n, std::int64_t rows, int spectrum, bool positive, double scale) {
  return {n, rows, static_cast<fft::Spectrum>(spectrum), positive, scale};
}

void bind_fft_transforms(nb::module_& m) {
  m.def("transform", [](std::int64_t n, std::int64_t rows, int spectrum, bool positive, double scale, int precision,
                        FftAddress x, FftAddress y) {
    nb::gil_scoped_release released;
    fft::TransformConfig config = fft_config(n, rows, spectrum, positive, scale);
    config.precision = static_cast<kernels::Precision>(precision);
    fft::execute(config, fft_in(x), fft_out(y), fft_backend());
  });
  m.def("note_transform", [](std::int64_t n, std::int64_t rows, int spectrum, bool positive, double scale) {
    fft::note_native(fft_config(n, rows, spectrum, positive, scale));
  });
  // x and y: address, numbers of a row, and floats of each.
  using Given = std::tuple<FftAddress, std::int64_t, std::int64_t>;
  m.def("inexact_by_long_sums", [](std::int64_t rows, const Given& x, const Given& y) {
    const auto of = [](const Given& g) { return fft::Rows{fft_in(std::get<0>(g)), std::get<1>(g), std::get<2>(g)}; };
    return fft::inexact_by_long_sums(rows, of(x), of(y));
  });
  // What a plan is: the way, whether half a spectrum is computed as such, bytes of its tables.
  m.def("plan", [](std::int64_t n, std::int64_t rows, int spectrum, bool positive, double scale) {
    nb::gil_scoped_release released;
    const auto p = fft::plan(fft_config(n, rows, spectrum, positive, scale));
    std::size_t numbers = 0;
    for (const kernels::Table& t : p->tables()) numbers += t.values.size();
    return std::tuple(p->way().name(), p->computed().spectrum == p->config().spectrum, 4 * numbers);
  });
  m.def("plan_program", [](std::int64_t n, std::int64_t rows, int spectrum, const std::string& chip) {
    Target target;
    if (!parse_target(chip, target)) throw nb::value_error("target: it is none of trn1, trn2, trn3");
    return std::make_shared<isa::Program>(fft::Plan(fft_config(n, rows, spectrum, false, 1), target).program(target));
  });
  m.def("transform_pair",
        [](std::int64_t n, std::int64_t rows, int spectrum, bool positive, double scale, FftAddress x, FftAddress y) {
          nb::gil_scoped_release released;
          fft::execute_pair(fft_config(n, rows, spectrum, positive, scale), fft_in(x), fft_out(y), fft_backend());
        });
  m.def("pair_ns", [](std::int64_t n, std::int64_t rows, int spectrum) {
    return fft::pair_ns(fft_config(n, rows, spectrum, false, 1));
  });
  m.attr("LONGEST_DOUBLE") = fft::kLongestDouble;
  m.def("transform_double", [](const std::string& operation, std::int64_t n, std::int64_t rows, bool positive,
                               double scale, FftAddress x, FftAddress y) {
    nb::gil_scoped_release released;
    fft::execute_double(operation, {n, rows, positive}, scale, reinterpret_cast<const double*>(x),  // NOLINT
                        reinterpret_cast<double*>(y), fft_backend());                               // NOLINT
  });
  m.def("plan_count", &fft::plan_count);
  m.def("clear_plans", &fft::clear_plans);
}

using FramesNumbers = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int,
                                 std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

fft::FramesConfig frames_config(const FramesNumbers& n) {
  const auto& [rows, samples, size, hop, width, border, pad, unit, kept, first] = n;
  return {rows, samples, size, hop, width, static_cast<kernels::Border>(border), pad, unit, kept, first};
}

void bind_fft_elementwise(nb::module_& m) {
  m.def("complex_multiply", [](std::int64_t count, FftAddress x, FftAddress y, FftAddress z) {
    nb::gil_scoped_release released;
    fft::complex_multiply(count, fft_in(x), fft_in(y), fft_out(z), fft_backend());
  });
  m.def("mod_relu", [](std::int64_t rows, std::int64_t features, FftAddress x, FftAddress bias, FftAddress y) {
    nb::gil_scoped_release released;
    fft::mod_relu(rows, features, fft_in(x), fft_in(bias), fft_out(y), fft_backend());
  });
  m.def("mod_relu_backward", [](std::int64_t rows, std::int64_t features, FftAddress x, FftAddress bias,
                                FftAddress gradient, FftAddress dx, FftAddress dbias) {
    nb::gil_scoped_release released;
    fft::mod_relu_backward(rows, features, fft_in(x), fft_in(bias), fft_in(gradient), fft_out(dx), fft_out(dbias),
                           fft_backend());
  });
  using Parts = std::pair<FftAddress, FftAddress>;
  static const auto in = [](const Parts& p) { return fft::ConstPair{{fft_in(p.first), fft_in(p.second)}}; };
  static const auto out = [](const Parts& p) { return fft::Pair{{fft_out(p.first), fft_out(p.second)}}; };
  m.def("complex_multiply_double", [](std::int64_t count, Parts x, Parts y, Parts z) {
    nb::gil_scoped_release released;
    fft::complex_multiply_double(count, in(x), in(y), out(z), fft_backend());
  });
  m.def("mod_relu_double", [](std::int64_t count, Parts x, FftAddress ratio, Parts bias, Parts least, Parts y) {
    nb::gil_scoped_release released;
    fft::mod_relu_double(count, in(x), fft_in(ratio), in(bias), in(least), out(y), fft_backend());
  });
  // numbers: those of FramesConfig, in its order.
  m.def("frames_product", [](const FramesNumbers& numbers, FftAddress x, FftAddress matrix, FftAddress weight,
                             FftAddress y) {
    nb::gil_scoped_release released;
    fft::frames_product(frames_config(numbers), fft_in(x), fft_in(matrix), fft_in(weight), fft_out(y), fft_backend());
  });
  m.def("complex_gemm", [](std::int64_t rows, std::int64_t columns, std::int64_t inner, int products, FftAddress a,
                           FftAddress b, FftAddress c) {
    nb::gil_scoped_release released;
    fft::complex_gemm(rows, columns, inner, products, fft_in(a), fft_in(b), fft_out(c), fft_backend());
  });
  m.def("note_complex_multiply", &fft::note_complex_multiply);
  m.def("note_mod_relu", &fft::note_mod_relu);
  m.def("note_frames_product", [](const FramesNumbers& numbers) { fft::note_frames_product(frames_config(numbers)); });
}

}  // namespace

void bind_fft(nb::module_& m) {
  nb::module_ sub = m.def_submodule("fft", "The native half of kiln.fft.");
  bind_fft_transforms(sub);
  bind_fft_elementwise(sub);
}

}  // namespace kiln::python
