// A table of text: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace kiln::views {

enum class Align : unsigned char { left, right };

class TextTable {
 public:
  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Each line begins with `indent` spaces and has none at its end.
  std::string to_text(std::size_t indent = 2) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kiln::views
