#include "cli/planned.h"

#include <fmt/format.h>

#include "cli/rules.h"

namespace kiln::cli {
namespace {

struct Planned {
  const char* name;
  const char* what;
};
constexpr Planned kPlanned[] = {
    {"import", "from an ONNX model to a tensor program"},
};

Outcome not_yet(const Planned& planned) {
  Diagnostic d = broken(cli_rules::kPlanned, fmt::format("not yet: `kiln {}` ({})", planned.name, planned.what));
  d.category = Category::not_yet;
  return {.diagnostics = {std::move(d)}};
}

}  // namespace

std::vector<Command> add_planned(CLI::App& root) {
  std::vector<Command> commands;
  for (const Planned& planned : kPlanned) {
    CLI::App* app = root.add_subcommand(planned.name, fmt::format("not yet: {}", planned.what));
    app->group(kPlannedGroup)->allow_extras();
    commands.push_back({app, [&planned] { return not_yet(planned); }});
  }
  return commands;
}

}  // namespace kiln::cli
