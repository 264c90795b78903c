// What if instructions ran on another engine: engine=tensor_copy:gpsimd.
#pragma once

#include <string_view>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::views {

inline constexpr std::string_view kEngineWhatIf = "engine";

// `text` is INSTRUCTION:ENGINE. Changes every such instruction that can run there. Throws Error when there is
// no such instruction or engine, or when none of the programs' instructions can.
void apply_engine_what_if(std::string_view text, std::vector<isa::Program>& programs);

}  // namespace kiln::views
