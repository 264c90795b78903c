#include "kiln/views/fit_width.h"

#include <algorithm>

namespace kiln::views {
namespace {

constexpr std::size_t kLeastRoom = 16;  // for what goes below the last column

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Where the rest of a line goes: below its last column, when it has columns.
std::size_t indent_of(std::string_view line, std::size_t width) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.rfind("  ");
  const bool columns = gap != std::string_view::npos && gap > first;
  const std::size_t column = columns ? characters(line.substr(0, gap + 2)) : 0;
  return columns && column + kLeastRoom <= width ? column : first + 2;
}

void add_line(std::string& out, std::string_view line, std::size_t width) {
  if (characters(line) <= width) {
    out += line;
    return;
  }
  const std::size_t indent = indent_of(line, width);
  std::size_t used = std::min(line.find_first_not_of(' '), line.size());
  out += line.substr(0, used);
  for (std::size_t at = used; at < line.size();) {
    const std::size_t word = line.find_first_not_of(' ', at);
    if (word == std::string_view::npos) break;
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::size_t length = characters(line.substr(word, end - word)), spaces = word - at;
    if (used + spaces + length > width && used > indent) {
      out += '\n' + std::string(indent, ' ');
      used = indent;
    } else {
      out.append(spaces, ' ');
      used += spaces;
    }
    out += line.substr(word, end - word);
    used += length;
    at = end;
  }
}

}  // namespace

std::string fit_width(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_line(out, text.substr(0, end), width);
    if (end == text.size()) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace kiln::views
