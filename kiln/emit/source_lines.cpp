#include "kiln/emit/source_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace kiln::emit {
namespace {

// An argument that is too long for a line, cut behind its commas; text in quotes stays whole.
std::vector<std::string> cut(const std::vector<std::string>& arguments, std::size_t room) {
  std::vector<std::string> pieces;
  for (const std::string& a : arguments) {
    std::size_t begin = 0;
    bool is_quoted = false;
    for (std::size_t i = 0; a.size() > room && i < a.size(); ++i) {
      if (a[i] == '"' && (i == 0 || a[i - 1] != '\\')) is_quoted = !is_quoted;
      if (is_quoted || a.compare(i, 2, ", ") != 0) continue;
      pieces.push_back(a.substr(begin, i - begin));
      begin = i + 2;
    }
    pieces.push_back(a.substr(begin));
  }
  return pieces;
}

}  // namespace

void SourceLines::line(const std::string& text) {
  lines_.push_back(text.empty() ? text : std::string(indent_, ' ') + text);
}

void SourceLines::call(const std::string& before, const std::vector<std::string>& arguments, const std::string& after) {
  const std::string whole = fmt::format("{}({}{}", before, fmt::join(arguments, ", "), after);
  if (indent_ + whole.size() <= kColumns || arguments.empty()) return line(whole);
  // Below the first argument; further left when one of them is too long for that.
  std::size_t longest = 0;
  for (const std::string& a : arguments) longest = std::max(longest, a.size());
  const bool aligned = indent_ + before.size() + 1 + longest + after.size() <= kColumns;
  const std::size_t margin = aligned ? indent_ + before.size() + 1 : indent_ + 4;
  std::string now = std::string(indent_, ' ') + before + "(";
  if (!aligned) lines_.push_back(std::exchange(now, std::string(margin, ' ')));
  bool is_fresh = true;  // nothing stands on the line yet
  const std::vector<std::string> pieces = cut(arguments, kColumns - margin - after.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string piece = pieces[i] + (i + 1 == pieces.size() ? after : ",");
    if (!is_fresh && now.size() + 1 + piece.size() > kColumns) {
      lines_.push_back(std::exchange(now, std::string(margin, ' ')));
      is_fresh = true;
    }
    now += (is_fresh ? "" : " ") + piece;
    is_fresh = false;
  }
  lines_.push_back(std::move(now));
}

void SourceLines::apart() {
  const bool begins = lines_.empty() || lines_.back().find_first_not_of(' ') < indent_ || lines_.back().empty();
  if (!begins) line();
}

std::size_t SourceLines::hold() {
  lines_.emplace_back(indent_, ' ');
  return lines_.size() - 1;
}

std::string SourceLines::text() const {
  std::string out;
  for (const std::string& line : lines_) out += line + "\n";
  return out;
}

}  // namespace kiln::emit
