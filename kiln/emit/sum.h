// Sum: an integer that is affine in the variables of a place in the source, and how it is written there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kiln::emit {

// A variable of the source and the values that it takes.
struct Variable {
  std::string name;
  std::int64_t lowest, highest;
};

struct Sum {
  std::int64_t constant = 0;
  std::vector<std::int64_t> coefficients = {};  // one per variable; those missing are 0

  static Sum of(std::span<const std::int64_t> row);  // constant, then coefficients
  bool is_constant() const;
  bool is(std::int64_t value) const { return constant == value && is_constant(); }
  bool operator==(const Sum& other) const;
  Sum plus(std::int64_t value) const { return {constant + value, coefficients}; }
  Sum plus(const Sum& other) const;
  Sum times(std::int64_t factor) const;
  // How often `divisor` goes into each part, and what is left of each.
  Sum quotient(std::int64_t divisor) const;
  Sum remainder(std::int64_t divisor) const;

  std::int64_t lowest(std::span<const Variable> variables) const;
  std::int64_t highest(std::span<const Variable> variables) const;
};

// `i * 128 + 4`.
std::string text_of(const Sum& sum, std::span<const Variable> variables);

}  // namespace kiln::emit
