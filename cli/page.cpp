#include "cli/page.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::cli {
namespace {

constexpr std::size_t kColumns = 100;

// Words of `text` in lines of at most kColumns, each after `indent` spaces.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out, line(indent, ' ');
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const bool empty = line.size() == indent;
    if (!empty && line.size() + 1 + (end - begin) > kColumns) {
      out += line + '\n';
      line.assign(indent, ' ');
    } else if (!empty) {
      line += ' ';
    }
    line.append(text, begin, end - begin);
    if (end < text.size() && text[end] == '\n') {
      out += line + '\n';
      line.assign(indent, ' ');
    }
    begin = end + 1;
  }
  return out + line + '\n';
}

std::string stacked_text(const Table& table) {
  std::string out;
  for (const auto& row : table.rows) {
    out += fmt::format("  {}\n", row[0]);
    for (std::size_t c = 1; c < row.size(); ++c) {
      if (row[c].empty()) continue;
      const std::string& label = table.header[c];
      out += wrapped(label.empty() ? row[c] : fmt::format("{}: {}", label, row[c]), 4);
    }
  }
  return out;
}

std::string columns_text(const Table& table) {
  std::vector<std::size_t> widths(table.header.size());
  for (std::size_t c = 0; c < widths.size(); ++c) {
    widths[c] = table.header[c].size();
    for (const auto& row : table.rows) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("  {:{}}", row[c], widths[c]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  };
  const auto has_text = [](const std::string& cell) { return !cell.empty(); };
  if (std::any_of(table.header.begin(), table.header.end(), has_text)) add(table.header);
  for (const auto& row : table.rows) add(row);
  return out;
}

// A bar inside a cell would end it, and * or _ or < would be read as marks.
std::string escaped(const std::string& cell) {
  std::string out;
  for (const char c : cell) {
    if (c == '|' || c == '*' || c == '_' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string to_text(const Page& page) {
  std::string out = page.title + '\n';
  if (!page.text.empty()) out += wrapped(page.text, 2);
  for (const Section& s : page.sections) {
    out += '\n' + s.title + '\n';
    if (!s.code.empty()) out += wrapped(s.code, 2);
    if (!s.text.empty()) out += wrapped(s.text, 2);
    if (!s.table.rows.empty()) out += s.table.stacked ? stacked_text(s.table) : columns_text(s.table);
  }
  return out;
}

std::string to_markdown(const Table& table) {
  std::string out, rule;
  for (const std::string& cell : table.header) {
    out += fmt::format("| {} ", escaped(cell));
    rule += "|---";
  }
  out += "|\n" + rule + "|\n";
  for (const auto& row : table.rows) {
    for (const std::string& cell : row) out += fmt::format("| {} ", escaped(cell));
    out += "|\n";
  }
  return out;
}

std::string to_markdown(const Page& page) {
  std::string out = fmt::format("# {}\n", page.title);
  if (!page.text.empty()) out += fmt::format("\n{}\n", escaped(page.text));
  for (const Section& s : page.sections) {
    out += fmt::format("\n## {}\n", s.title);
    if (!s.code.empty()) out += fmt::format("\n```\n{}\n```\n", s.code);
    if (!s.text.empty()) out += fmt::format("\n{}\n", escaped(s.text));
    if (!s.table.rows.empty()) out += '\n' + to_markdown(s.table);
  }
  return out;
}

}  // namespace kiln::cli
