// The instruction table as JSON: {instructions: [...], rules: [labels that belong to no single instruction]}.
#pragma once

#include <string>

namespace kiln {

std::string table_json();

}  // namespace kiln
