#include "kiln/isa/text/text_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::isa {
namespace {

// A dot stands between two word characters; ".ap" at the end would read as the start of a pattern.
bool is_plain(std::string_view name) {
  if (name.empty() || !is_name_start(name[0])) return false;
  for (std::size_t i = 1; i < name.size(); ++i) {
    const bool dot = name[i] == '.' && i + 1 < name.size() && name[i + 1] != '.';
    if (!dot && !is_word_char(name[i])) return false;
  }
  return !name.ends_with(".ap") && !is_reserved(name);
}

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (c == quote) out += '\\';
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
          out += c;
        }
    }
  }
  return out + quote;
}

}  // namespace

bool is_reserved(std::string_view word) {
  static constexpr std::string_view kWords[] = {"none", "true", "false", "inf", "nan"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

std::string name_text(std::string_view name) { return is_plain(name) ? std::string(name) : quoted(name, '`'); }
std::string string_text(std::string_view text) { return quoted(text, '"'); }

std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace kiln::isa
