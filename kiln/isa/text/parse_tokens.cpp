#include <fmt/format.h>

#include "kiln/isa/text/parser.h"

namespace kiln::isa {

std::string did_you_mean(std::string_view best) {
  return best.empty() ? std::string() : fmt::format("did you mean {}?", best);
}

std::string describe(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the text";
  constexpr std::size_t kMost = 60;
  return token.text.size() > kMost ? fmt::format("'{}…'", token.text.substr(0, kMost))
                                   : fmt::format("'{}'", token.text);
}

bool Parser::accept(std::string_view punctuation) {
  if (!lexer_.peek().is(punctuation)) return false;
  lexer_.take();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!lexer_.peek().is_word(word)) return false;
  lexer_.take();
  return true;
}

Token Parser::expect(std::string_view punctuation) {
  if (!lexer_.peek().is(punctuation)) unexpected(fmt::format("'{}'", punctuation));
  return lexer_.take();
}

Token Parser::expect_name(const char* what) {
  if (lexer_.peek().kind != Token::Kind::name) unexpected(what);
  return lexer_.take();
}

Token Parser::expect_string(const char* what) {
  if (lexer_.peek().kind != Token::Kind::string) unexpected(what);
  return lexer_.take();
}

void Parser::expect_word(std::string_view word) {
  if (!accept_word(word)) unexpected(fmt::format("'{}'", word));
}

std::uint64_t Parser::unsigned_integer(std::uint64_t most, const char* what) {
  const Token& t = lexer_.peek();
  if (t.kind != Token::Kind::integer) unexpected(what);
  if (t.magnitude > most) lexer_.fail(text_rules::kNumber, describe(t), fmt::format("at most {}", most));
  return lexer_.take().magnitude;
}

// open [item {, item}] close
void Parser::list(std::string_view open, std::string_view close, FunctionRef<void(std::size_t)> item) {
  expect(open);
  if (accept(close)) return;
  std::size_t count = 0;
  do {
    if (count == kMaxListLength) lexer_.fail(text_rules::kLength, "a list of more items");
    item(count++);
  } while (accept(","));
  expect(close);
}

void Parser::unexpected(const std::string& expected) {
  lexer_.fail(text_rules::kSyntax, describe(lexer_.peek()), expected);
}

void Parser::wrong_value(const ParamInfo& param, const std::string& allowed) {
  lexer_.fail(text_rules::kValue, fmt::format("{} for {}", describe(lexer_.peek()), param.name), allowed);
}

void Parser::check_depth(int depth) {
  if (depth > kMaxDepth) lexer_.fail(text_rules::kDepth, fmt::format("depth {}", depth));
}

}  // namespace kiln::isa
