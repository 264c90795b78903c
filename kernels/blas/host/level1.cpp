#include <array>
#include <cmath>
#include <limits>

#include "kernels/blas/host/arguments.h"
#include "kernels/blas/host/blas.h"
#include "kernels/blas/host/device_call.h"
#include "kernels/blas/host/native.h"
#include "kernels/blas/host/packing.h"
#include "kernels/blas/host/wide.h"
#include "kernels/blas/level1/level1.h"

namespace kiln::blas {
namespace {

using kernels::Coefficient;
using kernels::LinearMapConfig;
using kernels::VectorShape;
constexpr Coefficient kZero = Coefficient::zero, kOne = Coefficient::one, kGiven = Coefficient::given;

template <class T>
VectorShape shape_of(Int n, const InVector<T>& v) {
  return {n, v.inc, is_complex<T>};
}
std::string text_of(const VectorShape& v) { return fmt::format("{}:{}{}", v.n, v.inc, v.is_complex ? "c" : ""); }

template <class T>
Array vector_array(std::string name, const InVector<T>& v, Int n) {
  return array(std::move(name), v.array.data(), {(n - 1) * v.inc + 1});
}

std::string key_of(const LinearMapConfig& config) {
  std::string key;
  for (const VectorShape& v : config.inputs) key += text_of(v) + " ";
  for (const auto& row : config.coefficients) {
    for (const Coefficient c : row) key += "01g"[static_cast<int>(c)];
    key += "/";
  }
  return key;
}

// The same for doubles, as a product of the planes, one column each, with the matrix of coefficients.
template <class T>
void wide_map(std::string_view name, Int n, const std::vector<InVector<T>>& inputs,
              const std::vector<std::vector<Coefficient>>& rows, const std::vector<double>& scalars,
              const std::vector<std::pair<T*, Int>>& outputs) {
  const Int planes = is_complex<T> ? 2 : 1, inner = static_cast<Int>(inputs.size()) * planes;
  const Int outer = static_cast<Int>(rows.size());
  std::vector<double> x(static_cast<std::size_t>(n * inner)), h(static_cast<std::size_t>(inner * outer));
  for (std::size_t v = 0; v < inputs.size(); ++v) {
    for (Int i = 0; i < n; ++i) {
      const auto* element = reinterpret_cast<const double*>(inputs[v].array.data() + i * inputs[v].inc);
      std::copy_n(element, planes, x.data() + i * inner + static_cast<Int>(v) * planes);
    }
  }
  std::size_t next = 0;
  for (Int o = 0; o < outer; ++o) {
    for (Int i = 0; i < inner; ++i) {
      const Coefficient c = rows[static_cast<std::size_t>(o)][static_cast<std::size_t>(i)];
      h[static_cast<std::size_t>(i * outer + o)] = c == kGiven ? scalars[next++] : c == kOne ? 1.0 : 0.0;
    }
  }
  const std::vector<double> result =
      wide_product(routine_name<T>(name), false, false, n, outer, inner, x.data(), inner, h.data(), outer);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    std::vector<T> values(static_cast<std::size_t>(n));
    for (Int i = 0; i < n; ++i) {
      std::copy_n(result.data() + i * outer + static_cast<Int>(o) * planes, planes,
                  reinterpret_cast<double*>(values.data() + i));
    }
    out_vector(values, outputs[o].first, outputs[o].second);
  }
}

// A map of one or two vectors: `rows` for real elements; complex ones have a factor `alpha` at [0][0] at most.
template <class T, class Native>
void map_vectors(std::string_view name, Int n, std::vector<InVector<T>> inputs,
                 std::vector<std::vector<Coefficient>> rows, std::vector<double> scalars,
                 std::vector<std::pair<T*, Int>> outputs, Native&& native) {
  if constexpr (is_wide<T>) {
    if (!is_native()) return wide_map(name, n, inputs, rows, scalars, outputs);
  }
  LinearMapConfig config{.name = std::string(name), .inputs = {}, .coefficients = std::move(rows)};
  for (const auto& v : inputs) config.inputs.push_back(shape_of(n, v));
  const std::string key = key_of(config);
  dispatch<T>(name, {key, [config](Target t) { return kernels::linear_map(config, t); }}, native, [&](auto run) {
    static constexpr const char* kNames[] = {"x", "y"};
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < inputs.size(); ++i) arrays.push_back(vector_array(kNames[i], inputs[i], n));
    const std::vector<float> given(scalars.begin(), scalars.end());
    if (!given.empty()) {
      arrays.push_back(array("scalars", given.data(), {1, static_cast<Int>(given.size())}));
    }
    std::vector<std::vector<T>> results(outputs.size(), std::vector<T>(static_cast<std::size_t>(n)));
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      arrays.push_back(array(fmt::format("out{}", o), results[o].data(), {n}));
    }
    run(std::move(arrays));
    for (std::size_t o = 0; o < outputs.size(); ++o) out_vector(results[o], outputs[o].first, outputs[o].second);
  });
}

// Real coefficients for each plane of complex elements.
template <class T>
std::vector<std::vector<Coefficient>> per_plane(const std::vector<std::vector<Coefficient>>& rows) {
  if (!is_complex<T>) return rows;
  std::vector<std::vector<Coefficient>> out;
  for (const auto& row : rows) {
    for (int plane = 0; plane < 2; ++plane) {
      std::vector<Coefficient> wide;
      for (const Coefficient c : row) {
        wide.push_back(plane == 0 ? c : kZero);
        wide.push_back(plane == 1 ? c : kZero);
      }
      out.push_back(std::move(wide));
    }
  }
  return out;
}
template <class T>
std::vector<double> per_plane_scalars(const std::vector<std::vector<double>>& rows) {
  std::vector<double> out;
  for (const auto& row : rows) {
    for (int plane = 0; plane < (is_complex<T> ? 2 : 1); ++plane) out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

// Coefficients of alpha x (+ y), with alpha complex where elements are.
template <class T>
std::pair<std::vector<std::vector<Coefficient>>, std::vector<double>> scaled(T alpha, bool plus_y) {
  std::vector<std::vector<Coefficient>> rows;
  std::vector<double> scalars;
  if constexpr (is_complex<T>) {
    rows = {{kGiven, kGiven}, {kGiven, kGiven}};
    const double re = alpha.real(), im = alpha.imag();
    scalars = {re, -im, im, re};
    if (plus_y) {
      rows[0].insert(rows[0].end(), {kOne, kZero});
      rows[1].insert(rows[1].end(), {kZero, kOne});
    }
  } else {
    rows = {{kGiven}};
    scalars = {static_cast<double>(alpha)};
    if (plus_y) rows[0].push_back(kOne);
  }
  return {rows, scalars};
}

template <class T>
std::vector<T> dense_vector(Int n, const T* x, Int incx) {
  std::vector<T> out(static_cast<std::size_t>(n));
  const T* from = first_element(x, n, incx);
  for (Int i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = from[i * incx];
  return out;
}

template <class T>
std::vector<double> plane_values(const std::vector<T>& x) {
  const auto* first = reinterpret_cast<const double*>(x.data());
  return std::vector<double>(first, first + x.size() * sizeof(T) / sizeof(double));
}
double product_of(const std::string& operation, const std::vector<double>& x, const std::vector<double>& y) {
  const Int n = static_cast<Int>(x.size());
  return wide_product(operation, false, false, 1, 1, n, x.data(), n, y.data(), 1)[0];
}

// Doubles through a device and back, bit by bit: each is two elements that are only copied.
template <class T>
std::vector<T> moved(const std::vector<T>& x) {
  using Bits = std::complex<float>;
  std::vector<T> out(x.size());
  const Int count = static_cast<Int>(x.size() * sizeof(T) / sizeof(Bits));
  copy<Bits>(count, reinterpret_cast<const Bits*>(x.data()), 1, reinterpret_cast<Bits*>(out.data()), 1);
  return out;
}

}  // namespace

template <class T>
void axpy(Int n, T alpha, const T* x, Int incx, T* y, Int incy) {
  Arguments("axpy").size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0 || alpha == T(0)) return;
  const auto [rows, scalars] = scaled(alpha, true);
  map_vectors<T>("axpy", n, {in_vector(n, x, incx), in_vector<T>(n, y, incy)}, rows, scalars, {{y, incy}},
                 [&] { native::axpy(n, alpha, x, incx, y, incy); });
}

template <class T>
void scal(Int n, T alpha, T* x, Int incx) {
  Arguments("scal").size("n", n).step("incx", incx);
  if (n == 0) return;
  const auto [rows, scalars] = scaled(alpha, false);
  map_vectors<T>("scal", n, {in_vector<T>(n, x, incx)}, rows, scalars, {{x, incx}}, [&] {
    const Int step = incx < 0 ? -incx : incx;
    if (alpha == T(0)) {  // OpenBLAS forgets NaN then
      for (Int i = 0; i < n; ++i) x[i * step] *= alpha;
    } else {
      native::scal(n, alpha, x, step);
    }
  });
}

template <class T>
void copy(Int n, const T* x, Int incx, T* y, Int incy) {
  Arguments("copy").size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0) return;
  if constexpr (is_wide<T>) {
    if (!is_native()) return out_vector(moved(dense_vector(n, x, incx)), y, incy);
  }
  map_vectors<T>("copy", n, {in_vector(n, x, incx)}, per_plane<T>({{kOne}}), {}, {{y, incy}},
                 [&] { native::copy(n, x, incx, y, incy); });
}

template <class T>
void swap(Int n, T* x, Int incx, T* y, Int incy) {
  Arguments("swap").size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0) return;
  if constexpr (is_wide<T>) {
    if (!is_native()) {
      const std::vector<T> xs = moved(dense_vector<T>(n, x, incx)), ys = moved(dense_vector<T>(n, y, incy));
      out_vector(ys, x, incx);
      return out_vector(xs, y, incy);
    }
  }
  map_vectors<T>("swap", n, {in_vector<T>(n, x, incx), in_vector<T>(n, y, incy)},
                 per_plane<T>({{kZero, kOne}, {kOne, kZero}}), {}, {{x, incx}, {y, incy}},
                 [&] { native::swap(n, x, incx, y, incy); });
}

template <class T>
void rot(Int n, T* x, Int incx, T* y, Int incy, real_t<T> c, real_t<T> s) {
  Arguments("rot").size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0) return;
  const double cf = c, sf = s;
  map_vectors<T>("rot", n, {in_vector<T>(n, x, incx), in_vector<T>(n, y, incy)},
                 per_plane<T>({{kGiven, kGiven}, {kGiven, kGiven}}), per_plane_scalars<T>({{cf, sf}, {-sf, cf}}),
                 {{x, incx}, {y, incy}}, [&] { native::rot(n, x, incx, y, incy, c, s); });
}

template <class T>
void rotm(Int n, T* x, Int incx, T* y, Int incy, const T* h) {
  Arguments("rotm").size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0 || h[0] == T(-2)) return;
  // h: flag, h11, h21, h12, h22; the flag says which of them are 1, -1 or as given.
  const bool has_diagonal = h[0] != T(0), has_cross = h[0] != T(1);
  std::vector<double> scalars;
  const auto given = [&](bool is_given, T value, Coefficient otherwise) {
    if (is_given) scalars.push_back(value);
    return is_given ? kGiven : otherwise;
  };
  std::vector<std::vector<Coefficient>> rows(2);
  rows[0] = {given(has_diagonal, h[1], kOne), kOne};
  rows[0][1] = given(has_cross, h[3], kOne);
  rows[1].push_back(given(true, has_cross ? h[2] : T(-1), kOne));
  rows[1].push_back(given(has_diagonal, h[4], kOne));
  map_vectors<T>("rotm", n, {in_vector<T>(n, x, incx), in_vector<T>(n, y, incy)}, rows, scalars, {{x, incx}, {y, incy}},
                 [&] { native::rotm(n, x, incx, y, incy, h); });
}

namespace {

template <class T>
T dot_of(std::string_view name, kernels::DotKind kind, Int n, const T* x, Int incx, const T* y, Int incy) {
  Arguments(name).size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0) return T(0);
  if constexpr (is_wide<T>) {
    if (!is_native()) {
      const std::vector<T> xs = dense_vector(n, x, incx), ys = dense_vector(n, y, incy);
      T out{};
      gemm<T>(Layout::row_major, kind == kernels::DotKind::conjugated ? Transpose::conj_trans : Transpose::trans,
              Transpose::no_trans, 1, 1, n, T(1), xs.data(), 1, ys.data(), 1, T(0), &out, 1);
      return out;
    }
  }
  const InVector<T> xv = in_vector(n, x, incx), yv = in_vector(n, y, incy);
  const kernels::DotConfig config{kind, shape_of(n, xv), shape_of(n, yv)};
  T out{};
  dispatch<T>(
      name, {text_of(config.x) + " " + text_of(config.y), [config](Target t) { return kernels::dot(config, t); }},
      [&] {
        out =
            kind == kernels::DotKind::conjugated ? native::dotc(n, x, incx, y, incy) : native::dot(n, x, incx, y, incy);
      },
      [&](auto run) {
        run({vector_array("x", xv, n), vector_array("y", yv, n), array("sum", &out, {1, 1})});
      });
  return out;
}

}  // namespace

template <class T>
T dot(Int n, const T* x, Int incx, const T* y, Int incy) {
  return dot_of(is_complex<T> ? "dotu" : "dot", kernels::DotKind::product, n, x, incx, y, incy);
}
template <class T>
T dotc(Int n, const T* x, Int incx, const T* y, Int incy) {
  return dot_of("dotc", kernels::DotKind::conjugated, n, x, incx, y, incy);
}

template <class T>
real_t<T> asum(Int n, const T* x, Int incx) {
  Arguments("asum").size("n", n).step("incx", incx);
  if (n == 0) return 0;
  if constexpr (is_wide<T>) {
    if (!is_native()) {
      std::vector<double> values = plane_values(dense_vector(n, x, std::abs(incx)));
      for (double& v : values) v = std::fabs(v);
      const std::vector<double> ones(values.size(), 1.0);
      return product_of(routine_name<T>("asum"), values, ones);
    }
  }
  const InVector<T> xv = in_vector(n, x, std::abs(incx));  // the order does not count
  const kernels::DotConfig config{kernels::DotKind::magnitude, shape_of(n, xv), {}};
  real_t<T> out{};
  dispatch<T>(
      "asum", {text_of(config.x), [config](Target t) { return kernels::dot(config, t); }},
      [&] { out = native::asum(n, x, std::abs(incx)); },
      [&](auto run) {
        run({vector_array("x", xv, n), array("sum", &out, {1, 1})});
      });
  return out;
}

template <class T>
real_t<T> nrm2(Int n, const T* x, Int incx) {
  Arguments("nrm2").size("n", n).step("incx", incx);
  if (n == 0) return 0;
  if constexpr (is_wide<T>) {
    if (!is_native()) {
      std::vector<double> values = plane_values(dense_vector(n, x, std::abs(incx)));
      double most = 0;
      for (const double v : values) most = std::isfinite(v) ? std::max(most, std::fabs(v)) : most;
      int e = 0;
      std::frexp(most, &e);
      for (double& v : values) v = std::ldexp(v, -e);  // squares stay in range
      return std::ldexp(std::sqrt(product_of(routine_name<T>("nrm2"), values, values)), e);
    }
  }
  const InVector<T> xv = in_vector(n, x, std::abs(incx));
  const VectorShape shape = shape_of(n, xv);
  real_t<T> out{};
  dispatch<T>(
      "nrm2", {text_of(shape), [shape](Target t) { return kernels::nrm2(shape, t); }},
      [&] { out = native::nrm2(n, x, std::abs(incx)); },
      [&](auto run) {
        std::array<float, 2> sum{};
        run({vector_array("x", xv, n), array("sum", sum.data(), {1, 2})});
        out = static_cast<real_t<T>>(std::sqrt(static_cast<double>(sum[0])) / sum[1]);
      });
  return out;
}

namespace {

template <class T>
bool is_nan(T v) {
  if constexpr (is_complex<T>)
    return std::isnan(v.real()) || std::isnan(v.imag());
  else
    return std::isnan(v);
}

// OpenBLAS passes over NaN, which a sum of magnitudes shows.
template <class T>
Int native_iamax(Int n, const T* x, Int incx) {
  if (!std::isnan(native::asum(n, x, incx))) return native::iamax(n, x, incx);
  Int i = 0;
  while (!is_nan(x[i * incx])) ++i;
  return i;
}

}  // namespace

namespace {

// The first largest of doubles: of their upper bits, then, among those that are equal so far, of the next ones.
template <class T>
Int wide_iamax(Int n, const T* x, Int incx) {
  std::vector<double> left(static_cast<std::size_t>(n));
  std::vector<Int> places(left.size());
  double most = 0;
  for (Int i = 0; i < n; ++i) {
    const std::vector<double> parts = plane_values(std::vector<T>{x[i * incx]});
    double size = 0;
    for (const double v : parts) size += std::fabs(v);
    left[static_cast<std::size_t>(i)] = size;
    places[static_cast<std::size_t>(i)] = i;
    if (std::isfinite(size)) most = std::max(most, size);
  }
  int e = 0;
  std::frexp(most, &e);
  for (double& v : left) v = std::ldexp(v, -e);
  for (int round = 0; round < 3; ++round) {  // 3 x 24 bits
    std::vector<float> upper(left.size());
    for (std::size_t i = 0; i < left.size(); ++i) {  // towards zero, so that nothing negative is left
      upper[i] = static_cast<float>(left[i]);
      if (static_cast<double>(upper[i]) > left[i]) upper[i] = std::nextafterf(upper[i], 0.0f);
    }
    const auto best = static_cast<std::size_t>(iamax<float>(static_cast<Int>(upper.size()), upper.data(), 1));
    const float top = upper[best];
    if (!std::isfinite(top)) return places[best];
    std::vector<double> next;
    std::vector<Int> next_places;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (upper[i] != top) continue;
      next.push_back(std::ldexp(left[i] - top, 24));
      next_places.push_back(places[i]);
    }
    left = std::move(next);
    places = std::move(next_places);
  }
  return places.front();
}

}  // namespace

template <class T>
Int iamax(Int n, const T* x, Int incx) {
  Arguments("iamax").size("n", n).size("incx", incx).step("incx", incx);
  if (n == 0) return 0;
  if constexpr (is_wide<T>) {
    if (!is_native()) return wide_iamax(n, x, incx);
  }
  const InVector<T> xv = in_vector(n, x, incx);
  const VectorShape shape = shape_of(n, xv);
  Int out = 0;
  dispatch_as<T>(
      fmt::format("i{}amax", letter<T>), {text_of(shape), [shape](Target t) { return kernels::iamax(shape, t); }},
      [&] { out = native_iamax(n, x, incx); },
      [&](auto run) {
        const Int pieces = kernels::iamax_pieces(n);
        std::vector<float> best(static_cast<std::size_t>(2 * pieces));
        run({vector_array("x", xv, n), array("best", best.data(), {2, pieces})});
        const auto is_larger = [&](Int a, Int b) {
          return best[a] > best[b] || (std::isnan(best[a]) && !std::isnan(best[b]));
        };
        Int top = 0;
        for (Int p = 1; p < pieces; ++p) top = is_larger(p, top) ? p : top;
        out = top * kernels::kIamaxPiece + static_cast<Int>(best[static_cast<std::size_t>(pieces + top)]);
      });
  return out;
}

namespace {

// That of OpenBLAS adds up pieces in float.
double native_dsdot(Int n, const float* x, Int incx, const float* y, Int incy) {
  const float *a = first_element(x, n, incx), *b = first_element(y, n, incy);
  double sum = 0;
  for (Int i = 0; i < n; ++i) sum += static_cast<double>(a[i * incx]) * b[i * incy];
  return sum;
}

}  // namespace

double dsdot(Int n, const float* x, Int incx, const float* y, Int incy) {
  Arguments("dsdot").size("n", n).step("incx", incx).step("incy", incy);
  if (n == 0) return 0;
  const InVector<float> xv = in_vector(n, x, incx), yv = in_vector(n, y, incy);
  const VectorShape xs = shape_of(n, xv), ys = shape_of(n, yv);
  double out = 0;
  dispatch_as<float>(
      "dsdot", {text_of(xs) + " " + text_of(ys), [xs, ys](Target t) { return kernels::dsdot(xs, ys, t); }},
      [&] { out = native_dsdot(n, x, incx, y, incy); },
      [&](auto run) {
        std::array<float, 2> sum{};
        run({vector_array("x", xv, n), vector_array("y", yv, n), array("sum", sum.data(), {1, 2})});
        out = static_cast<double>(sum[0]) + static_cast<double>(sum[1]);
      });
  return out;
}

float sdsdot(Int n, float alpha, const float* x, Int incx, const float* y, Int incy) {
  return static_cast<float>(alpha + dsdot(n, x, incx, y, incy));
}

#define KILN_LEVEL1(T)                                \
  template void axpy(Int, T, const T*, Int, T*, Int); \
  template void scal(Int, T, T*, Int);                \
  template void copy(Int, const T*, Int, T*, Int);    \
  template void swap(Int, T*, Int, T*, Int);          \
  template T dot(Int, const T*, Int, const T*, Int);  \
  template T dotc(Int, const T*, Int, const T*, Int); \
  template real_t<T> nrm2(Int, const T*, Int);        \
  template real_t<T> asum(Int, const T*, Int);        \
  template Int iamax(Int, const T*, Int);             \
  template void rot(Int, T*, Int, T*, Int, real_t<T>, real_t<T>);
KILN_LEVEL1(float)
KILN_LEVEL1(double)
KILN_LEVEL1(std::complex<float>)
KILN_LEVEL1(std::complex<double>)
template void rotm(Int, float*, Int, float*, Int, const float*);
template void rotm(Int, double*, Int, double*, Int, const double*);

}  // namespace kiln::blas
