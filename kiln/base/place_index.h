// PlaceIndex: source lines numbered in the order in which they come.
#pragma once

#include <string>
#include <unordered_map>

namespace kiln {

class PlaceIndex {
 public:
  // The number of a line; a new line gets size().
  std::size_t operator()(const std::string& file, int line) {
    if (!last_ || last_->first != file) last_ = &*files_.try_emplace(file).first;
    const auto [found, is_new] = last_->second.emplace(line, size_);
    size_ += is_new;
    return found->second;
  }
  std::size_t size() const { return size_; }

 private:
  std::unordered_map<std::string, std::unordered_map<int, std::size_t>> files_;
  std::pair<const std::string, std::unordered_map<int, std::size_t>>* last_ =
      nullptr;  // most lines follow one of their file
  std::size_t size_ = 0;
};

}  // namespace kiln
