#include "kiln/base/quantity_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace kiln {
namespace {

// Three significant digits, but all digits of a whole part.
std::string three_digits(double value) {
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

// `value` in the largest of the units, each `step` times the one before, that leaves at least 1.
template <std::size_t N>
std::string scaled(double value, double step, const char* const (&units)[N]) {
  std::size_t i = 0;
  while (i + 1 < N && std::abs(value) >= step * (1 - 0.0005)) {
    value /= step;
    ++i;
  }
  return fmt::format("{} {}", three_digits(value), units[i]);
}

}  // namespace

std::string time_text(double ns) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  return ns == 0 ? "0" : scaled(ns, 1000, kUnits);
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return bytes < 1024 ? fmt::format("{:.0f} B", bytes) : scaled(bytes, 1024, kUnits);
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  return fmt::format("{:.{}f} %", percent, percent != 0 && std::abs(percent) < 9.95 ? 1 : 0);
}

std::string count_text(double count, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  return (count < 1000 ? fmt::format("{:.0f} ", count) : scaled(count, 1000, kPrefixes)) + unit;
}

std::string per_second_text(double per_ns, const char* unit) { return count_text(1e9 * per_ns, unit); }

}  // namespace kiln
