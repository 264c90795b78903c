#include <algorithm>
#include <cmath>

#include "kernels/fft/double_steps.h"

namespace kiln::kernels {
namespace {

using Factors = std::vector<std::int64_t>;

// Fewer factors are better, then a smaller sum.
bool is_better(const Factors& a, const Factors& b) {
  if (a.empty() || b.empty()) return !a.empty();
  const auto sum = [](const Factors& f) {
    std::int64_t total = 0;
    for (const std::int64_t n : f) total += n;
    return total;
  };
  return a.size() != b.size() ? a.size() < b.size() : sum(a) < sum(b);
}

// Falling factors of at most `most`.
Factors best_factors(std::int64_t n, std::int64_t most) {
  if (n <= most) return {n};
  Factors best;
  for (std::int64_t f = most; f > 1; --f) {
    if (n % f) continue;
    Factors rest = best_factors(n / f, f);
    if (rest.empty()) continue;
    rest.insert(rest.begin(), f);
    if (is_better(rest, best)) best = std::move(rest);
  }
  return best;
}

int half_logarithm(std::int64_t n) {
  int halvings = 0;
  while ((std::int64_t{4} << (2 * halvings)) <= n) ++halvings;
  return halvings;
}

double rest_of_root(const DoubleFactors::Step& s) {
  return std::ldexp(1.0, s.halvings) / std::sqrt(static_cast<double>(s.n));
}

}  // namespace

DoubleFactors::DoubleFactors(std::int64_t n, bool positive, std::string prefix)
    : n_(n), positive_(positive), prefix_(std::move(prefix)) {
  std::int64_t before = 1;
  for (const std::int64_t f : best_factors(n, kMostDoubleFactor)) {
    steps_.push_back({f, n / before / f, before, half_logarithm(f)});
    before *= f;
  }
}

double DoubleFactors::gain() const {
  double all = 1;
  for (const Step& s : steps_) all *= rest_of_root(s) / std::ldexp(1.0, s.halvings);
  return all * last_power();
}

void add_double_table(Tables& tables, const std::string& name, std::int64_t rows, std::int64_t columns,
                      const std::vector<double>& values) {
  Table high(name + "0", rows, columns), low(name + "1", rows, columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    high.values[i] = static_cast<float>(values[i]);
    low.values[i] = static_cast<float>(values[i] - high.values[i]);
  }
  tables.push_back(std::move(high));
  tables.push_back(std::move(low));
}

// [2 n, 2 n]: planes of numbers j to planes of numbers k.
void DoubleFactors::add_matrix(Tables& tables, std::size_t step) const {
  const Step& s = steps_[step];
  std::vector<double> values(static_cast<std::size_t>(4 * s.n * s.n));
  const auto at = [&](std::int64_t row, std::int64_t column) -> double& {
    return values[static_cast<std::size_t>(row * 2 * s.n + column)];
  };
  for (std::int64_t j = 0; j < s.n; ++j) {
    for (std::int64_t k = 0; k < s.n; ++k) {
      const Complex w = rest_of_root(s) * root(positive_ ? j * k : -j * k, s.n);
      at(j, k) = at(s.n + j, s.n + k) = w.real();
      at(j, s.n + k) = w.imag(), at(s.n + j, k) = -w.imag();
    }
  }
  add_double_table(tables, name("matrix", step), 2 * s.n, 2 * s.n, values);
}

// [rest, 2 n]: planes of numbers k for each J.
void DoubleFactors::add_twiddles(Tables& tables, std::size_t step) const {
  const Step& s = steps_[step];
  std::vector<double> values(static_cast<std::size_t>(2 * s.n * s.rest));
  for (std::int64_t j = 0; j < s.rest; ++j) {
    for (std::int64_t k = 0; k < s.n; ++k) {
      const Complex w = std::ldexp(1.0, -s.halvings) * root(positive_ ? j * k : -j * k, s.n * s.rest);
      const auto at = static_cast<std::size_t>(2 * s.n * j + k);
      values[at] = w.real(), values[at + static_cast<std::size_t>(s.n)] = w.imag();
    }
  }
  add_double_table(tables, name("twiddles", step), s.rest, 2 * s.n, values);
}

Tables DoubleFactors::tables() const {
  Tables tables;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    add_matrix(tables, i);
    if (i + 1 < steps_.size()) add_twiddles(tables, i);
  }
  return tables;
}

}  // namespace kiln::kernels
