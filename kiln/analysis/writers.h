// Writers: which instructions write a tensor.
#pragma once

#include <vector>

#include "kiln/base/function_ref.h"
#include "kiln/isa/program.h"

namespace kiln::analysis {

// Whether an instruction writes a tensor that `is_it`.
bool writes(const isa::Program& program, const isa::Instruction& inst, FunctionRef<bool(isa::TensorId)> is_it);

// All that write it, in the order of their ids.
std::vector<isa::InstructionId> writers_of(const isa::Program& program, isa::TensorId tensor);

// By tensor: whether any instruction writes it.
std::vector<bool> written_tensors(const isa::Program& program);

// By tensor: the only instruction that writes it; kNone when there is none or more than one.
std::vector<isa::InstructionId> only_writers(const isa::Program& program);

}  // namespace kiln::analysis
