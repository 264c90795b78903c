// KeyText: bytes that are equal when everything that was added is.
#pragma once

#include <string>
#include <type_traits>

namespace kiln::emit {

class KeyText {
 public:
  template <class T>
  KeyText& add(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);  // no padding
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  KeyText& add(const std::string& text) {
    add(text.size());
    text_ += text;
    return *this;
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace kiln::emit
