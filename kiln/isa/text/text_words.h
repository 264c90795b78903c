// How names, strings and reals are spelled in the text form, so that they read back exactly.
#pragma once

#include <string>
#include <string_view>

namespace kiln::isa {

// What names are made of after their first character.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word_char(char c) { return is_name_start(c) || is_digit(c); }

// Words that are values; a tensor or register of that name is written in backticks.
bool is_reserved(std::string_view word);

// The name itself when it is a plain one, else in backticks.
std::string name_text(std::string_view name);

// In double quotes, with JSON's escapes.
std::string string_text(std::string_view text);

// Shortest digits that read back as the same double, always with '.', 'e', inf or nan.
std::string real_text(double value);

}  // namespace kiln::isa
