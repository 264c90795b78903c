// A page of text, tables and code: built once, shown as plain text or as Markdown.
#pragma once

#include <string>
#include <vector>

namespace kiln::cli {

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  bool stacked = false;  // as plain text, a row is its first cell with the others below it
};

struct Section {
  std::string title;
  std::string code;
  std::string text;
  Table table;
};

struct Page {
  std::string title;
  std::string text;
  std::vector<Section> sections;
};

std::string to_text(const Page& page);
std::string to_markdown(const Page& page);
std::string to_markdown(const Table& table);

}  // namespace kiln::cli
