// Names of the emitted source: legal Python, each for one thing, and as in the program where that allows.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace kiln::emit {

class Names {
 public:
  Names();
  // A name like `wish` that is given to nobody else.
  std::string take(std::string_view wish);
  // The same, to be given back.
  std::string borrow(std::string_view wish) { return take(wish); }
  void give_back(const std::string& name) { used_.erase(name); }
  bool is_free(const std::string& name) const { return !used_.contains(name); }

 private:
  std::unordered_map<std::string, int> used_;  // and the number that the next one like it begins with
};

// Letters, digits and underscores, and no digit first.
std::string identifier(std::string_view text);

}  // namespace kiln::emit
