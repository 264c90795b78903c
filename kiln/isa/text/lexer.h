// Tokens of the text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/base/error.h"
#include "kiln/isa/text/text_rules.h"

namespace kiln::isa {

struct Token {
  enum class Kind : std::uint8_t { end, name, integer, real, string, punctuation };
  Kind kind = Kind::end;
  bool quoted = false;          // a name in backticks: never a keyword
  std::string_view text;        // as written
  std::string value;            // of strings and of quoted names
  std::uint64_t magnitude = 0;  // integers have no sign of their own; at most 2^63
  double real = 0;
  int line = 1;

  std::string_view name() const { return quoted ? std::string_view(value) : text; }
  bool is(std::string_view punctuation) const { return kind == Kind::punctuation && text == punctuation; }
  bool is_word(std::string_view word) const { return kind == Kind::name && !quoted && text == word; }
};

class Lexer {
 public:
  Lexer(std::string_view text, std::string file_name);

  const Token& peek() const { return token_; }
  Token take();  // the current token; moves on

  // Throws a diagnostic about `rule` at the current token.
  [[noreturn]] void fail(const Rule& rule, std::string found, std::string allowed = "", std::string help = "") const;
  [[noreturn]] void fail_at(const Token& token, const Rule& rule, std::string found, std::string allowed = "",
                            std::string help = "") const;
  const std::string& file_name() const { return file_name_; }

 private:
  void next();
  void skip_space();
  void lex_name();
  void lex_number();
  void lex_quoted(char quote);
  void lex_escape(char quote);
  void lex_punctuation();
  bool at(std::size_t position, char c) const { return position < text_.size() && text_[position] == c; }
  void cut(Token::Kind kind, std::size_t end);  // the token reaches from position_ to end
  [[noreturn]] void fail_here(std::size_t position, const Rule& rule, std::string found) const;

  std::string_view text_;
  std::string file_name_;
  std::size_t position_ = 0;
  int line_ = 1;
  Token token_;
};

}  // namespace kiln::isa
