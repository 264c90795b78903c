// What if the vendor's compiler merged longer loops: merged_passes=2048.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kiln/arch/compiler_spec.h"

namespace kiln::views {

inline constexpr std::string_view kMergedWhatIf = "merged_passes";

// Whether a what-if (NAME=VALUE) is about the compiler, and not the chip.
bool is_compiler_what_if(std::string_view text);

// The compiler as those of the what-ifs have it. Throws Error when a value is no whole number.
CompilerSpec compiler_of(const std::vector<std::string>& what_if);

}  // namespace kiln::views
