#include "kernels/fft/bluestein.h"

#include "kernels/fft/factored.h"
#include "kernels/fft/host_dft.h"
#include "kernels/fft/pointwise.h"

namespace kiln::kernels {
using namespace isa;

namespace {

// e^(± i pi j² / n)
Complex chirp(const TransformConfig& c, std::int64_t j) {
  const std::int64_t square = product_mod(j, j, 2 * c.n);
  return root(c.positive ? square : -square, 2 * c.n);
}

Way convolution(const Way& w) {
  return {w.n0 == 1 ? Way::Kind::two_factor : Way::Kind::three_factor, w.n0, w.n1, w.n2};
}

Factored forward(const Way& w) { return {convolution(w), false, 1, "forward_"}; }
Factored backward(const Way& w) { return {convolution(w), true, 1, "backward_"}; }

void set(Table& t, std::int64_t i, const Complex& v) {
  t(0, 2 * i) = static_cast<float>(v.real()), t(0, 2 * i + 1) = static_cast<float>(v.imag());
}

}  // namespace

Tables bluestein_tables(const TransformConfig& c, const Way& w) {
  const std::int64_t m = w.product();
  Table before("chirp_before", 1, 2 * c.n), between("chirp_spectrum", 1, 2 * m), after("chirp_after", 1, 2 * c.n);
  std::vector<Complex> filter(static_cast<std::size_t>(m));
  for (std::int64_t j = 0; j < c.n; ++j) {
    const Complex v = chirp(c, j);
    set(before, j, v);
    set(after, j, c.scale * v);
    filter[static_cast<std::size_t>(j)] = std::conj(v);
    if (j > 0) filter[static_cast<std::size_t>(m - j)] = std::conj(v);
  }
  const std::vector<Complex> spectrum = host_dft(filter);
  for (std::int64_t k = 0; k < m; ++k) set(between, k, spectrum[static_cast<std::size_t>(k)] / static_cast<double>(m));
  Tables tables{std::move(before), std::move(between), std::move(after)};
  for (const Factored& f : {forward(w), backward(w)}) {
    for (Table& t : factored_tables(f)) tables.push_back(std::move(t));
  }
  return tables;
}

void bluestein(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y) {
  const std::int64_t m = w.product();
  const auto table = [&](const char* name, std::int64_t n) { return k.input(name, {1, 2 * n}, DType::float32); };
  const auto scratch = [&] { return k.hbm({c.rows, 2 * m}, DType::float32); };
  const View padded = scratch(), spectrum = scratch(), filtered = scratch(), result = scratch();
  multiply_rows(k, x, padded, table("chirp_before", c.n));
  factored(k, forward(w), padded, spectrum);
  multiply_rows(k, spectrum, filtered, table("chirp_spectrum", m));
  factored(k, backward(w), filtered, result);
  multiply_rows(k, result, y, table("chirp_after", c.n));
}

}  // namespace kiln::kernels
