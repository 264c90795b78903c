// "Did you mean": the nearest of a list of names.
#pragma once

#include <string_view>

namespace kiln {

// Collects candidates and keeps the one that takes the fewest single-character edits, if they are few for its
// length.
class Suggest {
 public:
  explicit Suggest(std::string_view word) : word_(word) {}
  void consider(std::string_view candidate);
  std::string_view best() const { return best_; }  // empty when nothing is near

 private:
  std::string_view word_, best_;
  int distance_ = 1 << 20;
  int considered_ = 0;
};

template <class Names>
std::string_view suggest(std::string_view word, const Names& names) {
  Suggest s(word);
  for (const auto& name : names) s.consider(name);
  return s.best();
}

}  // namespace kiln
