#include "kiln/emit/sum.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::emit {
namespace {

std::int64_t at(const std::vector<std::int64_t>& list, std::size_t i) { return i < list.size() ? list[i] : 0; }

}  // namespace

Sum Sum::of(std::span<const std::int64_t> row) { return {row[0], {row.begin() + 1, row.end()}}; }

bool Sum::is_constant() const {
  return std::ranges::all_of(coefficients, [](std::int64_t c) { return c == 0; });
}

bool Sum::operator==(const Sum& other) const {
  if (constant != other.constant) return false;
  for (std::size_t i = 0; i < std::max(coefficients.size(), other.coefficients.size()); ++i) {
    if (at(coefficients, i) != at(other.coefficients, i)) return false;
  }
  return true;
}

Sum Sum::plus(const Sum& other) const {
  Sum sum{constant + other.constant, coefficients};
  sum.coefficients.resize(std::max(coefficients.size(), other.coefficients.size()));
  for (std::size_t i = 0; i < other.coefficients.size(); ++i) sum.coefficients[i] += other.coefficients[i];
  return sum;
}

Sum Sum::times(std::int64_t factor) const {
  Sum product = *this;
  product.constant *= factor;
  for (std::int64_t& c : product.coefficients) c *= factor;
  return product;
}

Sum Sum::quotient(std::int64_t divisor) const {
  Sum out{constant / divisor, coefficients};
  for (std::int64_t& c : out.coefficients) c /= divisor;
  return out;
}

Sum Sum::remainder(std::int64_t divisor) const { return plus(quotient(divisor).times(-divisor)); }

std::int64_t Sum::lowest(std::span<const Variable> variables) const {
  std::int64_t sum = constant;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i]) sum += coefficients[i] * (coefficients[i] > 0 ? variables[i].lowest : variables[i].highest);
  }
  return sum;
}

std::int64_t Sum::highest(std::span<const Variable> variables) const { return -times(-1).lowest(variables); }

std::string text_of(const Sum& sum, std::span<const Variable> variables) {
  std::string text;
  const auto add = [&](std::int64_t value, const std::string& what) {
    text += text.empty() ? (value < 0 ? "-" : "") : (value < 0 ? " - " : " + ");
    text += what;
  };
  // A leading minus reads badly: begin with a positive part where there is one.
  for (const bool negative : {false, true}) {
    for (std::size_t i = 0; i < sum.coefficients.size(); ++i) {
      const std::int64_t c = sum.coefficients[i], size = c < 0 ? -c : c;
      if (c == 0 || (c < 0) != negative) continue;
      add(c, size == 1 ? variables[i].name : fmt::format("{} * {}", variables[i].name, size));
    }
    if (sum.constant != 0 && (sum.constant < 0) == negative)
      add(sum.constant, fmt::format("{}", sum.constant < 0 ? -sum.constant : sum.constant));
  }
  return text.empty() ? "0" : text;
}

}  // namespace kiln::emit
