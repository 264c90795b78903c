// The rules that a command line can break.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kiln/base/error.h"
#include "kiln/base/rule_text.h"

namespace kiln::cli {

// In the order of cli_rules(): cli.R1 and so on.
enum class CliRule : int {
  usage,
  planned,
  memory,
  binding,
  given_once,
  known_input,
  input_missing,
  shape,
  known_output,
  output_missing,
  output_shared,
  pair,
  standard_input,
  instruction,
  code,
  what_if,
  trip_count,
  one_run,
};

std::span<const RuleText> cli_rules();

// A diagnostic of category config. An empty `help` means the rule's.
Diagnostic broken(CliRule rule, std::string found, std::string help = {});

// "did you mean `best`?", or `otherwise` when nothing is near.
std::string did_you_mean(std::string_view best, std::string otherwise = {});

}  // namespace kiln::cli
