// Rules that hold for the operands of every instruction, walked from the table: memories, dtypes, partitions,
// access patterns, engines, generations. Labels operand.R1 and so on.
#pragma once

#include "kiln/isa/semantics/check.h"

namespace kiln::isa {

// By access of a program: what it was last found sound for. Programs take the same tiles again and again.
using SoundFor = std::vector<std::uint64_t>;

// check_instruction for a program that grows: `sound` is empty for its first instruction and kept to the last.
void check_instruction(const Program& program, const Instruction& inst, const Arch& arch, SoundFor& sound,
                       std::vector<Diagnostic>& out);

extern const RuleTable kOperandRules;
void check_operands(const Check& c, SoundFor* sound, std::vector<Diagnostic>& out);  // sound: null, nothing is kept
bool is_partition_count(const Diagnostic& d);                                        // operand.R6

// The first partition of this operand, on chip, of `rows` partitions is a multiple of this (operand.R7); 1
// when the rule leaves it alone.
std::int64_t start_unit(const InstView& inst, const Arch& arch, const ParamInfo& param, std::int64_t rows);

// Every first partition that an on-chip access takes over the loops is a multiple of `unit`.
bool starts_at_multiple(const Program& program, const Access& access, std::int64_t unit);

// Drops unit dims and merges neighbours that chain, innermost last. Returns the new rank.
int merge_dims(const Dim* dims, int rank, Dim* merged);

}  // namespace kiln::isa
