#include "kiln/base/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace kiln {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // UTF-8
};

Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {lead, 1, false};
  std::uint32_t code = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {lead, 1, false};
    code = code << 6 | (next & 0x3fU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[bytes] || code > 0x10ffff || surrogate) return {lead, 1, false};
  return {code, bytes, true};
}

bool is_control(std::uint32_t code) {
  const bool ascii = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool separator = code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x200e || code == 0x200f || code == 0x61c || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069);
  return ascii || separator || direction;
}

std::string escape(const Character& c) {
  return c.code < 0x100 ? fmt::format("\\x{:02x}", c.code) : fmt::format("\\u{:04x}", c.code);
}

// Calls replace for each character that must not be shown as it is, and keeps the others.
template <class Keep, class Replace>
std::string mapped(std::string_view text, Keep keep, Replace replace) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    if (c.valid && (keep(c.code) || !is_control(c.code))) {
      out += text.substr(0, c.bytes);
    } else {
      out += replace(c);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return mapped(
      text, [](std::uint32_t code) { return code == '\n' || code == '\t'; }, escape);
}

std::string printable_name(std::string_view name) {
  return mapped(
      name, [](std::uint32_t) { return false; }, escape);
}

std::string printable_line(std::string_view line, std::size_t max_bytes) {
  std::string_view shown = line.substr(0, max_bytes);
  while (!shown.empty() && shown.size() < line.size() && (line[shown.size()] & 0xc0) == 0x80) shown.remove_suffix(1);
  const std::string text = mapped(
      shown, [](std::uint32_t code) { return code == '\t'; }, [](const Character&) { return "?"; });
  return shown.size() < line.size() ? text + "..." : text;
}

}  // namespace kiln
