#include "cli/rules.h"

#include <fmt/format.h>

namespace kiln::cli {

Diagnostic broken(const Rule& rule, std::string found, std::string help) {
  return kiln::broken(cli_rules::kTable, rule, {.found = std::move(found), .help = std::move(help)});
}

std::string did_you_mean(std::string_view best, std::string otherwise) {
  return best.empty() ? otherwise : fmt::format("did you mean `{}`?", best);
}

}  // namespace kiln::cli
