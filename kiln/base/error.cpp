#include "kiln/base/error.h"

#include <nlohmann/json.hpp>

namespace kiln {
namespace {

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
  for (const Fact& fact : d.facts) json[fact.label] = fact.text;
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

std::string to_json(const Diagnostic& diagnostic, int indent) { return dump(json_of(diagnostic), indent); }

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
