#include "kiln/emit/source_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace kiln::emit {
namespace {

// Cuts text that is too long at the spaces that `is_place` takes, which then end a line; text in quotes stays whole.
template <typename IsPlace>
void cut(const std::string& text, std::size_t room, IsPlace is_place, std::vector<std::string>& pieces) {
  std::size_t begin = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; text.size() > room && i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) is_quoted = !is_quoted;
    if (is_quoted || text[i] != ' ' || i == 0 || !is_place(i)) continue;
    pieces.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  pieces.push_back(text.substr(begin));
}

// What a line may hold at least: arguments; of one that is too long what its commas part, of that the terms of a sum.
std::vector<std::string> pieces_of(const std::vector<std::string>& arguments, const std::string& after,
                                   std::size_t room) {
  std::vector<std::string> parts, pieces;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string text = arguments[k] + (k + 1 == arguments.size() ? after : ",");
    const auto is_behind_comma = [&](std::size_t i) { return text[i - 1] == ','; };
    cut(text, room, is_behind_comma, parts);
  }
  for (const std::string& text : parts) {
    const auto is_before_term = [&](std::size_t i) {
      return text.compare(i, 3, " + ") == 0 || text.compare(i, 3, " - ") == 0;
    };
    cut(text, room, is_before_term, pieces);
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
  for (const std::string& piece : pieces_of(arguments, after, kColumns - margin)) {
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
