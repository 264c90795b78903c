#include "kernels/fft/host/double_plan.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <list>
#include <memory>
#include <mutex>

#include "kernels/fft/host/fft_rules.h"

namespace kiln::fft {
namespace {

// What does not depend on the rows.
struct Kept {
  std::int64_t n;
  bool positive;
  kernels::Tables tables;
  double gain;
};

constexpr std::size_t kMostKept = 16;
struct Store {
  std::mutex mutex;
  std::list<std::shared_ptr<const Kept>> newest_first;
};
Store& store() {
  static Store s;
  return s;
}

std::shared_ptr<const Kept> kept(const DoubleTransformConfig& c) {
  std::lock_guard lock(store().mutex);
  auto& newest_first = store().newest_first;
  for (auto i = newest_first.begin(); i != newest_first.end(); ++i) {
    if ((*i)->n != c.n || (*i)->positive != c.positive) continue;
    newest_first.splice(newest_first.begin(), newest_first, i);
    return newest_first.front();
  }
  newest_first.push_front(std::make_shared<const Kept>(
      Kept{c.n, c.positive, kernels::double_transform_tables(c), kernels::double_transform_gain(c)}));
  if (newest_first.size() > kMostKept) newest_first.pop_back();
  return newest_first.front();
}

// Both parts of numbers that are at most 1, and the exponents that rows were divided by.
struct Planes {
  std::vector<float> high, low;
  std::vector<int> exponents;
};

constexpr int kNotFinite = std::numeric_limits<int>::min();

// An exponent e with a norm below 2^e; 0 for zeros.
int exponent_of(const double* row, std::int64_t numbers) {
  double most = 0;
  for (std::int64_t i = 0; i < numbers; ++i) {
    if (!std::isfinite(row[i])) return kNotFinite;
    most = std::max(most, std::abs(row[i]));
  }
  if (most == 0) return 0;
  const int large = std::ilogb(most);  // squares of scaled numbers do not leave the range
  double squares = 0;
  for (std::int64_t i = 0; i < numbers; ++i) squares += std::pow(std::ldexp(row[i], -large), 2);
  return large + std::ilogb(std::sqrt(squares)) + 1;
}

Planes planes_of(const DoubleTransformConfig& c, const double* x) {
  const std::int64_t width = 2 * c.n;
  Planes p;
  p.high.resize(static_cast<std::size_t>(c.rows * width));
  p.low.resize(p.high.size());
  for (std::int64_t r = 0; r < c.rows; ++r, x += width) {
    const int e = exponent_of(x, width);
    p.exponents.push_back(e);
    if (e == kNotFinite) continue;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(r * width + i % 2 * c.n + i / 2);
      const double v = std::ldexp(x[i], -e);
      p.high[at] = static_cast<float>(v);
      p.low[at] = static_cast<float>(v - p.high[at]);
    }
  }
  return p;
}

}  // namespace

void execute_double(const std::string& operation, const DoubleTransformConfig& c, double scale, const double* x,
                    double* y, backend::Backend backend) {
  if (c.n < 1 || c.rows < 1)
    raise(fft_rules::kTable, fft_rules::kSizes, {.found = fmt::format("{} rows of {}", c.rows, c.n)});
  if (c.n > kLongestDouble)
    raise(fft_rules::kTable, fft_rules::kLength,
          {.found = fmt::format("n is {}", c.n), .operand = "n", .category = Category::not_yet});
  const auto tables = kept(c);
  Planes in = planes_of(c, x), out{std::vector<float>(in.high.size()), std::vector<float>(in.high.size()), {}};
  backend::Call call{.library = "FFT",
                     .operation = operation,
                     .key = fmt::format("{} {} {} double", c.n, c.rows, c.positive),
                     .program = [c](Target t) { return kernels::double_transform(c, t); },
                     .arrays = {}};
  const auto add = [&](std::string name, const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
    call.arrays.push_back({std::move(name), const_cast<float*>(values.data()), {rows, columns}});
  };
  for (const auto& [name, values] :
       {std::pair("x0", &in.high), std::pair("x1", &in.low), std::pair("y0", &out.high), std::pair("y1", &out.low)})
    add(name, *values, c.rows, 2 * c.n);
  for (const kernels::Table& t : tables->tables) add(t.name, t.values, t.rows, t.columns);
  backend::run(call, backend);
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const int e = in.exponents[static_cast<std::size_t>(r)];
    for (std::int64_t i = 0; i < 2 * c.n; ++i, ++y) {
      const auto at = static_cast<std::size_t>(r * 2 * c.n + i % 2 * c.n + i / 2);
      *y = e == kNotFinite ? std::numeric_limits<double>::quiet_NaN()
                           : std::ldexp((static_cast<double>(out.high[at]) + out.low[at]) * (scale / tables->gain), e);
    }
  }
}

void clear_double_plans() {
  std::lock_guard lock(store().mutex);
  store().newest_first.clear();
}

}  // namespace kiln::fft
