// Message: numbers one after the other, as processes of one build tell them each other.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "kiln/base/error.h"

namespace kiln::sim {

class MessageWriter {
 public:
  MessageWriter& operator<<(std::int64_t value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class MessageReader {
 public:
  explicit MessageReader(const std::string& text) : text_(text) {}
  std::int64_t next() {
    KILN_ASSERT(at_ + sizeof(std::int64_t) <= text_.size());
    std::int64_t value;
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  bool at_end() const { return at_ == text_.size(); }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace kiln::sim
