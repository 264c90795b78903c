// Attributes of instructions in Python: numbers, operators and members of nki's enumerations.
#pragma once

#include <string>

#include "kiln/isa/program.h"
#include "kiln/isa/table.h"

namespace kiln::emit {

// What a float is in Python, read back exactly.
std::string real_text(double value);

// `"text"`, with Python's escapes.
std::string string_text(const std::string& text);

// `nl.add`, `nisa.engine.vector`.
std::string member_text(const isa::ParamInfo& param, std::int64_t member);

}  // namespace kiln::emit
