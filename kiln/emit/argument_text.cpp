#include "kiln/emit/argument_text.h"

#include <fmt/format.h>

#include <cmath>

#include "kiln/isa/text/text_words.h"

namespace kiln::emit {
namespace {

// The vendor's name of an enumeration.
std::string_view enum_name(isa::AttrType type) {
  switch (type) {
#define KILN_ENUM(cpp_name, vendor_name, ...) \
  case isa::AttrType::cpp_name:               \
    return #vendor_name;
#include "kiln/isa/enums.def"
#undef KILN_ENUM
    case isa::AttrType::Engine:
      return "engine";
    default:
      return "";
  }
}

}  // namespace

std::string real_text(double value) {
  if (std::isfinite(value)) return isa::real_text(value);
  return fmt::format("float(\"{}\")", std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
}

std::string string_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string member_text(const isa::ParamInfo& param, std::int64_t member) {
  const auto members = isa::enum_members(param.type);
  const std::string_view word = members[static_cast<std::size_t>(member)];
  const std::string_view name = enum_name(param.type);
  return name.empty() ? fmt::format("nl.{}", word) : fmt::format("nisa.{}.{}", name, word);
}

}  // namespace kiln::emit
