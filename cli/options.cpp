#include "cli/options.h"

#include <fmt/format.h>

#include "kiln/base/quantity_text.h"

namespace kiln::cli {

std::vector<const CLI::App*> all_commands(const CLI::App& root) {
  return root.get_subcommands([](const CLI::App*) { return true; });
}

namespace {

constexpr std::string_view kAllTargets = "all";

Target target_named(const std::string& text, const std::string& allowed) {
  Target parsed;
  if (!parse_target(text, parsed))
    throw CLI::ValidationError("--target", fmt::format("`{}` is none of {}", text, allowed));
  return parsed;
}

}  // namespace

void add_target(CLI::App& app, std::optional<Target>& target) {
  const std::string names = target_names("|");
  app.add_option_function<std::string>(
         "--target", [&target, names](const std::string& text) { target = target_named(text, names); },
         "the chip, instead of the one that the program names or that is the default")
      ->type_name(names);
}

void add_targets(CLI::App& app, Targets& targets) {
  const std::string names = fmt::format("{}|{}", target_names("|"), kAllTargets);
  app.add_option_function<std::string>(
         "--target",
         [&targets, names](const std::string& text) {
           targets.all = text == kAllTargets;
           if (!targets.all) targets.one = target_named(text, names);
         },
         "the chip, instead of the one that the program names or that is the default; all: side by side")
      ->type_name(names);
}

void add_source_roots(CLI::App& app, std::vector<std::string>& folders) {
  app.add_option("--source-root", folders,
                 "show lines of source files in this folder, too; those beside the program are shown anyway")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag(kJsonOption, json, "print JSON, diagnostics included, to stdout");
}

CLI::Validator above_zero() {
  const auto wrong = [](const std::string& text) -> std::string {
    double number = 0;
    const bool is_number = CLI::detail::lexical_cast(text, number);
    return is_number && number > 0 ? "" : fmt::format("`{}` is no number above zero", text);
  };
  return {wrong, "POSITIVE"};
}

void add_max_memory(CLI::App& app, std::int64_t& bytes) {
  app.add_option_function<std::string>(
         "--max-memory",
         [&bytes](const std::string& text) {
           const std::optional<std::int64_t> parsed = parse_bytes(text);
           if (!parsed) throw CLI::ValidationError("--max-memory", fmt::format("`{}` is no size such as 8G", text));
           bytes = *parsed;
         },
         "how much memory may be taken, as in 8G; otherwise nine tenths of what this machine has")
      ->type_name("SIZE");
}

std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "Examples:";
  for (const char* line : lines) text += fmt::format("\n  {}", line);
  return text;
}

}  // namespace kiln::cli
