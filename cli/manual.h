// Manual pages, walked from the instruction table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/page.h"
#include "kiln/isa/table.h"

namespace kiln::cli {

Page manual_page(const isa::InstructionInfo& row);
Page operand_page();  // the rules that hold for the operands of every instruction
Page listing();       // all instructions by group

nlohmann::ordered_json json_of(const isa::InstructionInfo& row);

// One Markdown file per instruction, operands.md and index.md. Makes the folder; returns how many files it
// wrote.
int write_manual(const std::string& folder);

std::string engines_text(const isa::InstructionInfo& row);
std::string generations_text(const isa::InstructionInfo& row);
bool is_complete(const isa::InstructionInfo& row);  // it can be checked, run and costed

}  // namespace kiln::cli
