// Words of the manual for what the instruction table stores as values.
#pragma once

#include <string>

#include "kiln/isa/table.h"

namespace kiln::cli {

std::string direction_text(isa::ParamKind kind);
std::string type_text(isa::AttrType type);
std::string default_text(const isa::ParamInfo& param);  // empty when the parameter is required
std::string members_text(isa::AttrType type);           // empty when the type is no enumeration
std::string memories_text(const isa::ParamInfo& param);
std::string dtypes_text(const isa::ParamInfo& param);
std::string flags_text(const isa::ParamInfo& param);

}  // namespace kiln::cli
