// The rules that the builder itself enforces, before there is a program to check.
#pragma once

#include <span>
#include <string>

#include "kiln/base/error.h"
#include "kiln/base/rule_text.h"

namespace kiln::isa {

std::span<const RuleText> builder_rules();
namespace builder_rule {
enum : int { rank = 1, view, tiles, run_time };
}

// An empty `help` means the rule's.
[[noreturn]] void throw_builder_error(int number, std::string found, std::string help = {}, SourceLoc loc = {});

}  // namespace kiln::isa
