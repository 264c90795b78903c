#include "kiln/isa/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "kiln/isa/text/text_words.h"

namespace kiln::isa {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

constexpr std::size_t kMaxContext = 160;  // characters of the offending line that a message shows

struct Place {
  int line, column;
  std::string_view text;  // the line
};

Place place_of(std::string_view text, std::size_t position) {
  const auto before = text.substr(0, position);
  const auto newline = before.rfind('\n');
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  const auto end = std::min(text.find('\n', position), text.size());
  Place place{1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
              1 + static_cast<int>(position - start), text.substr(start, end - start)};
  if (place.text.size() <= kMaxContext) return place;
  const std::size_t first = position - start > kMaxContext / 2 ? position - start - kMaxContext / 2 : 0;
  place.text = place.text.substr(first, kMaxContext);
  while (!place.text.empty() && is_continuation(place.text.front())) place.text.remove_prefix(1);
  return place;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

Lexer::Lexer(std::string_view text, std::string file_name) : text_(text), file_name_(std::move(file_name)) { next(); }

Token Lexer::take() {
  Token taken = std::move(token_);
  next();
  return taken;
}

void Lexer::fail(const Rule& rule, std::string found, std::string allowed, std::string help) const {
  fail_at(token_, rule, std::move(found), std::move(allowed), std::move(help));
}

void Lexer::fail_at(const Token& token, const Rule& rule, std::string found, std::string allowed,
                    std::string help) const {
  const auto place = place_of(text_, static_cast<std::size_t>(token.text.data() - text_.data()));
  raise(text_rules::kTable, rule,
        {.found = fmt::format("{} in {}, line {}, column {}", found, file_name_, place.line, place.column),
         .allowed = std::move(allowed),
         .help = std::move(help),
         .loc = {file_name_, place.line, {}},
         .column = place.column,
         .context = std::string(place.text)});
}

void Lexer::fail_here(std::size_t position, const Rule& rule, std::string found) const {
  Token token;
  token.text = text_.substr(std::min(position, text_.size()), 0);
  fail_at(token, rule, std::move(found));
}

void Lexer::skip_space() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '#') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      line_ += c == '\n';
      ++position_;
    } else {
      return;
    }
  }
}

void Lexer::cut(Token::Kind kind, std::size_t end) {
  token_.kind = kind;
  token_.text = text_.substr(position_, end - position_);
  position_ = end;
}

void Lexer::next() {
  skip_space();
  token_ = Token{};
  token_.line = line_;
  if (position_ >= text_.size()) return cut(Token::Kind::end, text_.size());
  const char c = text_[position_];
  if (is_name_start(c)) return lex_name();
  if (is_digit(c)) return lex_number();
  if (c == '"' || c == '`') return lex_quoted(c);
  lex_punctuation();
}

// A dot belongs to a name when a word character follows; the ".ap" in front of a parenthesis does not.
void Lexer::lex_name() {
  std::size_t end = position_ + 1;
  while (end < text_.size()) {
    const bool dot = text_[end] == '.' && end + 1 < text_.size() && is_word_char(text_[end + 1]);
    if (!dot && !is_word_char(text_[end])) break;
    ++end;
  }
  if (at(end, '(') && text_.substr(position_, end - position_).ends_with(".ap")) end -= 3;
  cut(Token::Kind::name, end);
}

void Lexer::lex_number() {
  const auto digits = [&](std::size_t from) {
    while (from < text_.size() && is_digit(text_[from])) ++from;
    return from;
  };
  std::size_t end = digits(position_);
  bool real = false;
  if (at(end, '.') && digits(end + 1) > end + 1) {
    end = digits(end + 1);
    real = true;
  }
  if (at(end, 'e') || at(end, 'E')) {
    const std::size_t exponent = end + 1 + (at(end + 1, '+') || at(end + 1, '-'));
    if (digits(exponent) > exponent) {
      end = digits(exponent);
      real = true;
    }
  }
  const char* first = text_.data() + position_;
  const char* last = text_.data() + end;
  cut(real ? Token::Kind::real : Token::Kind::integer, end);
  const auto status =
      real ? std::from_chars(first, last, token_.real).ec : std::from_chars(first, last, token_.magnitude).ec;
  const bool too_large = !real && token_.magnitude > std::uint64_t{1} << 63;
  if (status != std::errc{} || too_large) fail(text_rules::kNumber, fmt::format("{}", token_.text.substr(0, 40)));
}

void Lexer::lex_quoted(char quote) {
  const std::size_t start = position_;
  std::string value;
  ++position_;
  while (!at(position_, quote)) {
    if (position_ >= text_.size() || text_[position_] == '\n') {
      fail_here(start, text_rules::kCharacters, fmt::format("a {} without its end", quote));
    }
    if (text_[position_] == '\\') {
      lex_escape(quote);
      value += token_.value;
    } else {
      value += text_[position_++];
    }
  }
  const std::size_t end = position_ + 1;
  position_ = start;
  cut(quote == '"' ? Token::Kind::string : Token::Kind::name, end);
  token_.value = std::move(value);
  token_.quoted = true;
}

// Leaves the character that an escape stands for in token_.value.
void Lexer::lex_escape(char quote) {
  constexpr std::string_view kLetters = "nrtbf/\\", kMeanings = "\n\r\t\b\f/\\";
  const char c = position_ + 1 < text_.size() ? text_[position_ + 1] : '\0';
  token_.value.clear();
  if (c == 'u') {
    unsigned code = 0;
    const std::size_t end = std::min(position_ + 6, text_.size());
    const auto [stop, status] = std::from_chars(text_.data() + position_ + 2, text_.data() + end, code, 16);
    const bool complete = status == std::errc{} && stop == text_.data() + position_ + 6;
    if (!complete || (code >= 0xd800 && code < 0xe000)) {
      fail_here(position_, text_rules::kCharacters, "an escape \\u that is no character");
    }
    append_utf8(token_.value, code);
    position_ += 6;
    return;
  }
  const auto letter = kLetters.find(c);
  if (c != quote && (c == '\0' || letter == std::string_view::npos)) {
    fail_here(position_, text_rules::kCharacters, "an unknown escape");
  }
  token_.value = c == quote ? quote : kMeanings[letter];
  position_ += 2;
}

void Lexer::lex_punctuation() {
  constexpr std::string_view kSingle = "()[]{}:,=@*+-%.";
  const char c = text_[position_];
  if (c == '.' && at(position_ + 1, '.')) return cut(Token::Kind::punctuation, position_ + 2);
  if (kSingle.find(c) == std::string_view::npos) {
    const bool shows = c > ' ' && c < 0x7f;
    fail_here(position_, text_rules::kCharacters,
              shows ? fmt::format("'{}'", c) : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c)));
  }
  cut(Token::Kind::punctuation, position_ + 1);
}

}  // namespace kiln::isa
