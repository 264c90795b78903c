#include "kiln/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace kiln {
namespace {

constexpr std::uintmax_t kMaxSourceBytes = 16 << 20;  // a larger "source" is no source
constexpr std::size_t kMaxSourceColumns = 200;
constexpr std::size_t kMaxShownCalls = 8;

// The line of the user's source, empty when it cannot be had. Whatever goes wrong here must not hide the
// diagnostic.
std::string source_line(const SourceLoc& loc) {
  std::error_code failure;
  if (loc.line <= 0 || !std::filesystem::is_regular_file(loc.file, failure)) return {};
  const auto size_bytes = std::filesystem::file_size(loc.file, failure);
  if (failure || size_bytes > kMaxSourceBytes) return {};
  std::ifstream in(loc.file, std::ios::binary);
  std::string line;
  for (int i = 0; i < loc.line; ++i) {
    if (!std::getline(in, line)) return {};
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  // The text may go to a terminal: no control characters from a file.
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }, '?');
  if (line.size() > kMaxSourceColumns) line = line.substr(0, kMaxSourceColumns) + "...";
  return line;
}

// Adds `text` after `lead`; further lines of the text start with `next`.
void add_lines(std::string& out, const std::string& lead, const std::string& next, const std::string& text) {
  std::size_t begin = 0;
  for (bool more = true; more;) {
    const std::size_t end = text.find('\n', begin);
    more = end != std::string::npos;
    out += '\n';
    out += begin == 0 ? lead : next;
    out.append(text, begin, more ? end - begin : end);
    begin = end + 1;
  }
}

void add_field(std::string& out, int gutter, const char* label, const std::string& text) {
  if (text.empty()) return;
  const std::string lead = fmt::format("{:{}} = {}: ", "", gutter, label);
  add_lines(out, lead, std::string(lead.size(), ' '), text);
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// ^^^ below `width` bytes of a line from `column` on; empty when the line does not show them.
std::string underline(std::string_view line, int column, int width) {
  if (column < 1 || width < 1) return {};
  const auto first = static_cast<std::size_t>(column - 1), size = static_cast<std::size_t>(width);
  if (first + size > line.size()) return {};
  return std::string(character_count(line.substr(0, first)), ' ') +
         std::string(character_count(line.substr(first, size)), '^');
}

void add_place(std::string& out, int gutter, const Diagnostic& d, const std::string& source) {
  if (d.loc.known()) out += fmt::format("\n{:{}}--> {}", "", gutter, to_string(d.loc));
  const std::string bar = fmt::format("{:{}} | ", "", gutter);
  if (!source.empty()) out += fmt::format("\n{:>{}} | {}", d.loc.line, gutter, source);
  if (const std::string mark = underline(source, d.column, d.width); !mark.empty()) out += "\n" + bar + mark;
  const auto first = source.find_first_not_of(" \t");
  const bool told = first != std::string::npos && source.substr(first) == d.context;  // a program in text form
  if (!d.context.empty() && !told) add_lines(out, bar, bar, d.context);
  const auto& stack = d.loc.stack;
  const std::size_t shown = std::min(stack.size(), kMaxShownCalls);
  for (std::size_t i = 0; i < shown; ++i) add_field(out, gutter, "called from", stack[i]);
  if (shown < stack.size()) {
    add_field(out, gutter, "called from", fmt::format("... and {} more", stack.size() - shown));
  }
}

nlohmann::ordered_json json_of(const Diagnostic& d) {
  nlohmann::ordered_json notes = nlohmann::ordered_json::array();
  for (const Note& note : d.notes) {
    notes.push_back({{"text", note.text}, {"file", note.loc.file}, {"line", note.loc.line}, {"stack", note.loc.stack}});
  }
  nlohmann::ordered_json json = {{"severity", name(d.severity)},
                                 {"category", name(d.category)},
                                 {"code", d.code},
                                 {"rule", d.rule},
                                 {"file", d.loc.file},
                                 {"line", d.loc.line},
                                 {"stack", d.loc.stack},
                                 {"context", d.context},
                                 {"found", d.found},
                                 {"allowed", d.allowed},
                                 {"help", d.help},
                                 {"notes", std::move(notes)}};
  if (!d.operand.empty()) json["operand"] = d.operand;
  if (d.column > 0) json["column"] = d.column;
  return json;
}

// User text may hold bytes that are no UTF-8: those become U+FFFD, because reporting must not fail.
std::string dump(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

const char* name(Category category) {
  switch (category) {
    case Category::invalid:
      return "invalid";
    case Category::undefined:
      return "undefined";
    case Category::not_yet:
      return "not_yet";
    case Category::config:
      return "config";
    case Category::internal:
      return "internal";
  }
  return "?";
}

const char* name(Severity severity) { return severity == Severity::error ? "error" : "warning"; }

std::string to_string(const SourceLoc& loc) {
  const std::string file = loc.file.empty() ? "?" : loc.file;
  return loc.line > 0 ? fmt::format("{}:{}", file, loc.line) : file;
}

std::string to_text(const Diagnostic& d) {
  const std::string source = source_line(d.loc);
  // Wide enough for the line number, so that all bars stand below each other.
  const int gutter = source.empty() ? 2 : std::max(2, static_cast<int>(std::to_string(d.loc.line).size()));
  std::string out = name(d.severity);
  if (!d.code.empty()) out += fmt::format("[{}]", d.code);
  const std::string& headline = d.found.empty() ? d.rule : d.found;
  out += fmt::format(": {}", headline.empty() ? name(d.category) : headline);
  add_place(out, gutter, d, source);
  if (!d.found.empty()) add_field(out, gutter, "rule", d.rule);
  add_field(out, gutter, "allowed", d.allowed);
  add_field(out, gutter, "help", d.help);
  for (const Note& note : d.notes) {
    add_field(out, gutter, "note",
              note.loc.known() ? fmt::format("{}: {}", note.text, to_string(note.loc)) : note.text);
  }
  return out;
}

std::string to_json(const Diagnostic& diagnostic, int indent) { return dump(json_of(diagnostic), indent); }

std::string to_text(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) {
    if (!out.empty()) out += "\n\n";
    out += to_text(d);
  }
  return out;
}

std::string to_json(const std::vector<Diagnostic>& diagnostics, int indent) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Diagnostic& d : diagnostics) all.push_back(json_of(d));
  return dump(all, indent);
}

Error::Error(Diagnostic diagnostic) : Error(std::vector<Diagnostic>{std::move(diagnostic)}) {}

Error::Error(std::vector<Diagnostic> diagnostics) : diagnostics_(std::move(diagnostics)) {
  if (diagnostics_.empty()) {  // `first` must hold
    diagnostics_.push_back(
        {.category = Category::internal, .code = "internal", .found = "an error without a diagnostic"});
  }
  text_ = to_text(diagnostics_);
}

}  // namespace kiln
