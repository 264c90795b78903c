// The rules about a program as a whole: their texts, and the diagnostics that cite them.
#pragma once

#include <span>

#include "kiln/base/error.h"
#include "kiln/base/rule_text.h"
#include "kiln/isa/program.h"

namespace kiln::check {

// memory.R1 and so on: where on-chip tensors may lie, and whether all of them fit.
std::span<const RuleText> memory_rules();
namespace memory_rule {
enum : int { partitions = 1, size, inside, start_partition, bank, alignment, clobbered, capacity, pieces, hbm };
}

// io.R1 and so on: the memories of inputs and outputs, registers.
std::span<const RuleText> io_rules();
namespace io_rule {
enum : int { memory = 1, registers, output };
}

// A diagnostic for rule `number` of a table; `found`, `allowed` and notes are the caller's.
Diagnostic broken_rule(std::span<const RuleText> rules, int number, const SourceLoc& loc);

// Words for messages: "sbuf tensor `x`" and "float32 (128, 512)".
std::string title(const isa::Tensor& tensor);
std::string type_text(const isa::Tensor& tensor);

}  // namespace kiln::check
