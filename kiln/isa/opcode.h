// Opcode: one value per row of instructions.def.
#pragma once

#include <cstdint>

namespace kiln::isa {

#define KILN_OUT(...)
#define KILN_INOUT(...)
#define KILN_OPT_OUT(...)
#define KILN_IN(...)
#define KILN_INS(...)
#define KILN_OUTS(...)
#define KILN_SCALAR_OR_IN(...)
#define KILN_OPT_SCALAR_OR_IN(...)
#define KILN_ARG(...)
#define KILN_DEFAULT(...)
#define KILN_END(...)
enum class Opcode : std::uint8_t {
#define KILN_INSTRUCTION(name, ...) name,
#include "kiln/isa/instructions.def"
};
inline constexpr int kOpcodeCount = 0
#undef KILN_INSTRUCTION
#define KILN_INSTRUCTION(name, ...) +1
#include "kiln/isa/instructions.def"
    ;
#include "kiln/isa/undef_instruction_macros.h"

}  // namespace kiln::isa
