// The one renderer of diagnostics.
#include <fmt/format.h>

#include <algorithm>

#include "kiln/base/error.h"
#include "kiln/base/printable.h"
#include "kiln/base/source.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxShownBytes = 200;
constexpr std::size_t kMaxShownCalls = 8;

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// The blanks below the beginning of a line; a tab stays one.
std::string blanks_below(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c & 0xc0) != 0x80) out += c == '\t' ? '\t' : ' ';
  }
  return out;
}

class Renderer {
 public:
  Renderer(const Diagnostic& d, TextStyle style)
      : d_(d),
        style_(style),
        line_(d.source.empty() ? source_line(d.loc) : d.source),
        source_(printable_line(line_, kMaxShownBytes)) {
    // Wide enough for the line number, so that all bars stand below each other.
    if (!source_.empty()) gutter_ = std::max(gutter_, std::to_string(d.loc.line).size());
  }

  std::string text() {
    headline();
    place();
    if (!d_.found.empty()) field("rule", d_.rule);
    field("allowed", d_.allowed);
    for (const Fact& fact : d_.facts) field(fact.label, fact.text);
    field("help", d_.help);
    for (const Note& note : d_.notes)
      field("note", note.loc.known() ? fmt::format("{}: {}", note.text, to_string(note.loc)) : note.text);
    return std::move(out_);
  }

 private:
  static constexpr const char *kRed = "31", *kYellow = "33", *kBlue = "34", *kBold = "1";

  std::string painted(const char* colour, const std::string& text) const {
    return style_.colour ? fmt::format("\x1b[1;{}m{}\x1b[0m", colour, text) : text;
  }
  const char* signal() const { return d_.severity == Severity::error ? kRed : kYellow; }

  void headline() {
    std::string head = name(d_.severity);
    if (!d_.code.empty()) head += fmt::format("[{}]", printable_name(d_.code));
    const std::string& said = d_.found.empty() ? d_.rule : d_.found;
    const std::string text = printable(said.empty() ? name(d_.category) : said);
    out_ = painted(signal(), head) + painted(kBold, ": " + text);
  }

  void place() {
    if (d_.loc.known())
      out_ += fmt::format("\n{:{}}{} {}{}", "", gutter_, painted(kBlue, "-->"), to_string(d_.loc), column());
    const std::string bar = fmt::format("{:{}} {} ", "", gutter_, painted(kBlue, "|"));
    if (!source_.empty()) {
      const std::string number = fmt::format("{:>{}}", d_.loc.line, gutter_);
      out_ += fmt::format("\n{} {} {}", painted(kBlue, number), painted(kBlue, "|"), source_);
    }
    if (const std::string mark = underline(); !mark.empty()) out_ += "\n" + bar + painted(signal(), mark);
    const auto first = source_.find_first_not_of(" \t");
    const bool told = first != std::string::npos && source_.substr(first) == d_.context;  // a program in text form
    if (!d_.context.empty() && !told) lines(bar, bar, d_.context);
    calls();
  }

  void calls() {
    const auto& stack = d_.loc.stack;
    const std::size_t shown = std::min(stack.size(), kMaxShownCalls);
    for (std::size_t i = 0; i < shown; ++i) field("called from", printable_name(stack[i]));
    if (shown < stack.size()) field("called from", fmt::format("... and {} more", stack.size() - shown));
  }

  // ":8", in characters of the line.
  std::string column() const {
    if (d_.column < 1 || d_.loc.line < 1) return {};
    const std::size_t bytes = static_cast<std::size_t>(d_.column - 1);
    return fmt::format(":{}", bytes <= line_.size() ? character_count(line_.substr(0, bytes)) + 1 : bytes + 1);
  }

  // ^^^ below the bytes that are wrong; empty when the line does not show them.
  std::string underline() const {
    if (source_.empty() || !d_.mark.empty()) return source_.empty() ? std::string() : d_.mark;
    if (d_.column < 1 || d_.width < 1) return {};
    const auto first = static_cast<std::size_t>(d_.column - 1), size = static_cast<std::size_t>(d_.width);
    if (first + size > std::min(line_.size(), kMaxShownBytes)) return {};
    const std::string_view line = line_;
    return blanks_below(line.substr(0, first)) + std::string(character_count(line.substr(first, size)), '^');
  }

  // Adds `text` after `lead`; further lines of the text start with `next`.
  void lines(const std::string& lead, const std::string& next, const std::string& text) {
    const std::string shown = printable(text);
    std::size_t begin = 0;
    for (bool more = true; more;) {
      const std::size_t end = shown.find('\n', begin);
      more = end != std::string::npos;
      out_ += '\n';
      out_ += begin == 0 ? lead : next;
      out_.append(shown, begin, more ? end - begin : end);
      begin = end + 1;
    }
  }

  void field(const std::string& label, const std::string& text) {
    if (text.empty()) return;
    const std::string lead = fmt::format("{:{}} {} {} ", "", gutter_, painted(kBlue, "="), painted(kBold, label + ":"));
    lines(lead, std::string(gutter_ + 5 + label.size(), ' '), text);
  }

  const Diagnostic& d_;
  const TextStyle style_;
  const std::string line_, source_;  // as it is, and as it is shown
  std::size_t gutter_ = 2;
  std::string out_;
};

}  // namespace

std::string to_string(const SourceLoc& loc) {
  const std::string file = loc.file.empty() ? "?" : printable_name(loc.file);
  return loc.line > 0 ? fmt::format("{}:{}", file, loc.line) : file;
}

std::string to_text(const Diagnostic& diagnostic, TextStyle style) { return Renderer(diagnostic, style).text(); }

std::string to_text(const std::vector<Diagnostic>& diagnostics, TextStyle style) {
  std::string out;
  for (const Diagnostic& d : diagnostics) {
    if (!out.empty()) out += "\n\n";
    out += to_text(d, style);
  }
  return out;
}

}  // namespace kiln
