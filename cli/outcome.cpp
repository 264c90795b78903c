#include "cli/outcome.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kiln::cli {
namespace {

ExitCode exit_code_of(Category category) {
  switch (category) {
    case Category::internal:
      return kExitInternal;
    case Category::config:
    case Category::not_yet:
      return kExitUsage;
    default:
      return kExitBroken;
  }
}

}  // namespace

bool is_error(const Diagnostic& diagnostic) { return diagnostic.severity == Severity::error; }

ExitCode exit_code(const std::vector<Diagnostic>& diagnostics) {
  ExitCode worst = kExitOk;
  for (const Diagnostic& d : diagnostics) {
    if (is_error(d)) worst = std::max(worst, exit_code_of(d.category));
  }
  return worst;
}

nlohmann::ordered_json json_of(const std::vector<Diagnostic>& diagnostics) {
  return nlohmann::ordered_json::parse(to_json(diagnostics));
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace kiln::cli
