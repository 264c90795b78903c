#include "kiln/emit/names.h"

#include <fmt/format.h>

namespace kiln::emit {
namespace {

// Python's keywords, what the source imports, calls or counts on, and what reads like something else.
constexpr std::string_view kTaken[] = {
    "False", "None",  "True",   "and",      "as",     "assert",  "async", "await",     "break",  "class", "continue",
    "def",   "del",   "elif",   "else",     "except", "finally", "for",   "from",      "global", "if",    "import",
    "in",    "is",    "lambda", "nonlocal", "not",    "or",      "pass",  "raise",     "return", "try",   "while",
    "with",  "yield", "nki",    "nisa",     "ncc",    "nl",      "np",    "ml_dtypes", "base64", "zlib",  "range",
    "float", "print", "rng",    "I",        "O",      "l",       "_",     "__debug__"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Names::Names() {
  for (const std::string_view word : kTaken) used_.emplace(word, 1);
}

std::string Names::take(std::string_view wish) {
  const std::string base = identifier(wish);
  const auto [it, is_new] = used_.try_emplace(base, 1);
  if (is_new) return base;
  std::string name;
  int number = it->second;
  do {
    name = fmt::format("{}_{}", base, number++);
  } while (!used_.try_emplace(name, 1).second);
  used_[base] = number;
  return name;
}

std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) out += is_letter(c) || is_digit(c) ? c : '_';
  if (out.empty() || is_digit(out[0])) out.insert(out.begin(), 't');
  return out;
}

}  // namespace kiln::emit
