// Rules that diagnostics cite, and the one way to make a diagnostic of a broken rule. A rule is a named constant that
// stands in one table; the code of a diagnostic is the table's prefix and the rule's label, e.g. "nc_matmul.R3".
// Manual pages, `kiln explain` and the tests walk the tables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/base/error.h"

namespace kiln {

// How well a rule is founded: the documentation says it; only an older release said it; another public source
// says it; the documentation is silent and we chose.
enum class Mark : unsigned char { documented, historical, external, undocumented };
const char* name(Mark mark);

// The rule as a sentence and the usual remedy: apart from the rule, where several tables say the same.
struct RuleWords {
  const char* text;
  const char* help;
  Mark mark = Mark::documented;
};

// One rule. Its label is R<number>, or a word in a table that has words for labels. A label, once given, stays.
struct Rule {
  constexpr Rule(int number_, const RuleWords& words)
      : number(number_), text(words.text), help(words.help), mark(words.mark) {}
  constexpr Rule(int number_, const char* text_, const char* help_, Mark mark_ = Mark::documented)
      : number(number_), text(text_), help(help_), mark(mark_) {}
  constexpr Rule(const char* word_, const char* text_, const char* help_) : word(word_), text(text_), help(help_) {}

  int number = 0;              // from 1 on, in the order of the table
  const char* word = nullptr;  // instead of a number
  const char* text;
  const char* help;
  Mark mark = Mark::documented;
};

struct RuleTable {
  std::string_view prefix;  // of the codes
  std::string_view origin;  // what the rules are about, in words
  std::span<const Rule> rules;
  Category category = Category::invalid;  // of a broken rule, unless it is marked undocumented
  bool has_marks = false;                 // rules of the chip: their marks mean something
};

// "nc_matmul.R3".
std::string code_of(const RuleTable& table, const Rule& rule);

// What one case adds to its rule.
struct Finding {
  std::string found;
  std::string allowed = {};  // what is allowed, and on which generation
  std::string help = {};     // another remedy than the rule's own
  std::string rule = {};     // the rule as it reads in this case, where its sentence alone says too little
  SourceLoc loc = {};
  int column = 0;
  std::string context = {};  // the instruction as text, or the object concerned
  std::string operand = {};  // the parameter concerned
  std::vector<Note> notes = {};
  std::vector<Fact> facts = {};
  Severity severity = Severity::error;
  std::optional<Category> category = {};  // another one than the table's
};

// The diagnostic of a broken rule: every one is made here.
Diagnostic broken(const RuleTable& table, const Rule& rule, Finding finding);
[[noreturn]] void raise(const RuleTable& table, const Rule& rule, Finding finding);

extern const RuleTable kInternalRules;  // of internal_error

}  // namespace kiln
