// The protobuf wire format, as much of it as a trace needs: fields are appended to a string.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::views {

class Message {
 public:
  const std::string& bytes() const { return bytes_; }

  void varint(int field, std::uint64_t value) {
    key(field, kVarint);
    raw_varint(value);
  }
  void fixed64(int field, std::uint64_t value) {
    key(field, kFixed64);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void real(int field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  void text(int field, std::string_view value) {
    key(field, kLength);
    raw_varint(value.size());
    bytes_ += value;
  }
  void message(int field, const Message& value) { text(field, value.bytes_); }

 private:
  enum WireType { kVarint = 0, kFixed64 = 1, kLength = 2 };
  void key(int field, WireType type) { raw_varint(static_cast<std::uint64_t>(field) << 3 | type); }
  void raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace kiln::views
