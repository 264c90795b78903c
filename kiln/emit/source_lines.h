// Lines of Python of at most 100 columns.
#pragma once

#include <string>
#include <vector>

namespace kiln::emit {

inline constexpr std::size_t kColumns = 100;

class SourceLines {
 public:
  void line(const std::string& text = {});
  bool has_room(const std::string& text) const { return indent_ + text.size() <= kColumns; }  // on one line
  // `before` + "(" + arguments + ")" + `after`, in as many lines as it takes.
  void call(const std::string& before, const std::vector<std::string>& arguments, const std::string& after = ")");
  // An empty line, unless a block has just begun.
  void apart();
  void deeper() { indent_ += 4; }
  void back() { indent_ -= 4; }

  // A line whose text is known only after those that follow.
  std::size_t hold();
  void fill(std::size_t place, const std::string& text) { lines_[place] += text; }
  std::size_t count() const { return lines_.size(); }
  std::string text() const;

 private:
  std::vector<std::string> lines_;
  std::size_t indent_ = 0;
};

}  // namespace kiln::emit
