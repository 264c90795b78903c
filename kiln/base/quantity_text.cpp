#include "kiln/base/quantity_text.h"

#include <fmt/format.h>

#include <charconv>
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

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kPrefixes = "KMGT";
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || !(number > 0)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  const std::size_t prefix = text.empty() ? std::string_view::npos : kPrefixes.find(text[0]);
  if (prefix != std::string_view::npos) {
    number *= std::exp2(10.0 * static_cast<double>(prefix + 1));
    text.remove_prefix(1);
    if (text.starts_with('i')) text.remove_prefix(1);
  }
  if ((!text.empty() && text != "B") || number < 1 || number >= 0x1p62) return std::nullopt;
  return static_cast<std::int64_t>(number);
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
