// Diagnostics: what is wrong, where, which rule says so, and what to do about it. A Diagnostic is data; it
// prints like rustc (`to_text`) and as JSON (`to_json`). An Error carries one or more of them through an
// exception.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace kiln {

// Why something is refused. `invalid`: a documented rule is broken. `undefined`: the manual promises nothing.
// `not_yet`: planned. `config`: the caller's options or files. `internal`: our bug.
enum class Category : unsigned char { invalid, undefined, not_yet, config, internal };
const char* name(Category category);

enum class Severity : unsigned char { error, warning };
const char* name(Severity severity);

// A place in the user's source. `line` 0 means unknown. `stack` holds outer calls, innermost first, as
// "file:line".
struct SourceLoc {
  std::string file;
  int line = 0;
  std::vector<std::string> stack;
  bool foreign = false;  // named by a program's text and not ours to open: the place is shown, not the line
  bool known() const { return line > 0 || !file.empty(); }
  bool operator==(const SourceLoc& other) const {
    return file == other.file && line == other.line && stack == other.stack;
  }
};
std::string to_string(const SourceLoc& loc);

// A second place that helps to understand the first one ("declared here").
struct Note {
  std::string text;
  SourceLoc loc;
};

// What else is known of a case, e.g. {"target", "trn2 (NeuronCore-v3)"}.
struct Fact {
  std::string label, text;
};

struct Diagnostic {
  Severity severity = Severity::error;
  Category category = Category::invalid;
  std::string code;     // stable label, e.g. "nc_matmul.R3"; `kiln explain CODE` tells more
  std::string rule;     // the rule as a sentence
  SourceLoc loc;        // where
  int column = 0;       // of what is wrong in the line of `loc`, in bytes from 1 on; 0 means unknown
  int width = 0;        // bytes from there on that `to_text` underlines
  std::string context;  // the instruction as text, or the object concerned
  std::string operand;  // the parameter concerned, where there is one
  std::string found;    // what was found
  std::string allowed;  // what is allowed, and on which generation
  std::string help;     // the remedy
  std::vector<Note> notes;
  std::vector<Fact> facts;
  std::string source;  // the line of `loc`, from who has it; else it is read from the file
  std::string mark;    // what stands below it, from who knows the widths of its characters; else made of `width`
};

// How text is shown. Colours are for terminals.
struct TextStyle {
  bool colour = false;
};

// Everything that shows a diagnostic shows this: what was found, the source line with what is wrong underlined, the
// rule, the remedy.
std::string to_text(const Diagnostic& diagnostic, TextStyle style = {});
std::string to_json(const Diagnostic& diagnostic, int indent = -1);
std::string to_text(const std::vector<Diagnostic>& diagnostics, TextStyle style = {});
std::string to_json(const std::vector<Diagnostic>& diagnostics, int indent = -1);

class Error : public std::exception {
 public:
  explicit Error(Diagnostic diagnostic);
  explicit Error(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  const Diagnostic& first() const { return diagnostics_.front(); }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

// Throws category `internal`: an assumption of this library does not hold, whatever the user did.
[[noreturn]] void internal_error(const char* file, int line, const std::string& what);
#define KILN_ASSERT(cond)                                                                 \
  do {                                                                                    \
    if (!(cond)) ::kiln::internal_error(__FILE__, __LINE__, "assumption failed: " #cond); \
  } while (false)

}  // namespace kiln
