// Enumerations of nki.isa, walked from enums.def.
#pragma once

#include <cstdint>

namespace kiln::isa {

#define KILN_ENUM(type, vendor_name, ...) enum class type : std::uint8_t { __VA_ARGS__ };
#include "kiln/isa/enums.def"
#undef KILN_ENUM

}  // namespace kiln::isa
