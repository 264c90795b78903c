#include "kernels/fft/bluestein.h"

#include "kernels/fft/core_share.h"
#include "kernels/fft/factored.h"
#include "kernels/fft/host_dft.h"
#include "kernels/fft/pointwise.h"

namespace kiln::kernels {
using namespace isa;

namespace {

// e^(± i pi j² / n)
Complex chirp(const TransformConfig& c, std::int64_t j) {
  const std::int64_t square = product_mod(j, j, 2 * c.n);
  return root(c.positive || c.spectrum == Spectrum::inverse ? square : -square, 2 * c.n);
}

Way convolution(const Way& w) {
  using Kind = Way::Kind;
  Way of_factors = w;
  of_factors.kind = w.n0 == 1 ? Kind::two_factor : w.n3 == 1 ? Kind::three_factor : Kind::four_factor;
  of_factors.halved = of_factors.paired = false;
  return of_factors;
}

// Two factors multiply with the filter's spectrum where they make results.
bool is_filtered(const Way& w) { return w.n0 == 1; }
Factored forward(const TransformConfig& c, const Way& w) {
  return {
      convolution(w), false, 1, "forward_", c.rows_of_tables(), c.precision, is_filtered(w) ? "chirp_spectrum" : ""};
}
Factored backward(const TransformConfig& c, const Way& w) {
  return {convolution(w), true, 1, "backward_", c.rows_of_tables(), c.precision};
}

RealRows real_before(const TransformConfig& c) {
  return c.spectrum == Spectrum::forward ? RealRows::x : RealRows::none;
}
RealRows real_after(const TransformConfig& c) { return c.spectrum == Spectrum::inverse ? RealRows::y : RealRows::none; }

void set(Table& t, std::int64_t i, const Complex& v) {
  t(0, 2 * i) = static_cast<float>(v.real()), t(0, 2 * i + 1) = static_cast<float>(v.imag());
}

}  // namespace

Tables bluestein_tables(const TransformConfig& c, const Way& w) {
  const std::int64_t m = w.product(), in = numbers_in(c), out = numbers_out(c);
  Table before("chirp_before", 1, 2 * in), after("chirp_after", 1, 2 * out);
  std::vector<Complex> filter(static_cast<std::size_t>(m));
  for (std::int64_t j = 0; j < std::max(in, out); ++j) {
    const Complex v = chirp(c, j);
    // Of half a spectrum every number but the first and the middle one stands for two.
    const double weight = c.spectrum == Spectrum::inverse && j != 0 && 2 * j != c.n ? 2 : 1;
    if (j < in) set(before, j, weight * v);
    if (j < out) set(after, j, c.scale * v);
    if (j < out) filter[static_cast<std::size_t>(j)] = std::conj(v);
    if (j > 0 && j < in) filter[static_cast<std::size_t>(m - j)] = std::conj(v);
  }
  const std::vector<Complex> spectrum = host_dft(filter);
  const auto tap = [&](std::int64_t k) { return spectrum[static_cast<std::size_t>(k)] / static_cast<double>(m); };
  Table between("chirp_spectrum", 1, 2 * m);
  for (std::int64_t k = 0; k < m; ++k) set(between, k, tap(k));
  if (is_filtered(w)) between = filter_table(two_factors(forward(c, w)), tap);
  Tables tables{std::move(before), std::move(between), std::move(after)};
  for (const Factored& f : {forward(c, w), backward(c, w)}) {
    for (Table& t : factored_tables(f)) tables.push_back(std::move(t));
  }
  return tables;
}

void bluestein(Kernel& k, const TransformConfig& c, const Way& w, const ChirpStep& before, const ChirpStep& after) {
  const std::int64_t m = w.product();
  const auto table = [&](const char* name, std::int64_t n) { return k.input(name, {1, 2 * n}, DType::float32); };
  const auto scratch = [&] { return k.hbm({c.rows, 2 * m}, DType::float32); };
  const View padded = scratch(), spectrum = scratch(), filtered = is_filtered(w) ? spectrum : scratch(),
             result = scratch();
  before(padded, table("chirp_before", numbers_in(c)));
  factored(k, forward(c, w), padded, spectrum);
  if (!is_filtered(w)) multiply_rows(k, spectrum, filtered, table("chirp_spectrum", m));
  factored(k, backward(c, w), filtered, result);
  after(result, table("chirp_after", numbers_out(c)));
}

void bluestein(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y) {
  bluestein(
      k, c, w, [&](const View& z, const View& chirp) { multiply_rows(k, x, z, chirp, real_before(c)); },
      [&](const View& z, const View& chirp) { multiply_rows(k, z, y, chirp, real_after(c)); });
}

void bluestein_on_core(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y, int core) {
  const std::int64_t m = w.product(), in = numbers_in(c), out = numbers_out(c);
  const auto step = [&](const char* table, std::int64_t numbers, const View& from, const View& to, RealRows real) {
    multiply_numbers(k, from, to, k.input(table, {1, 2 * numbers}, f32), real, share_of(numbers, core));
  };
  const auto shared = [&](const char* name) { return shared_tensor(k, name, {1, 2 * m}); };
  const View padded = shared("padded"), spectrum = shared("spectrum"),
             filtered = is_filtered(w) ? spectrum : shared("filtered"), result = shared("result");
  step("chirp_before", in, x, padded, real_before(c));
  if (core == 1) clear_rows(k, padded, 2 * in);
  meet(k, padded);
  factored_on_core(k, forward(c, w), padded, spectrum, core);
  meet(k, spectrum);
  if (!is_filtered(w)) {
    step("chirp_spectrum", m, spectrum, filtered, RealRows::none);
    meet(k, filtered);
  }
  factored_on_core(k, backward(c, w), filtered, result, core);
  meet(k, result);
  step("chirp_after", out, result, y, real_after(c));
}

}  // namespace kiln::kernels
