// Fragments: what has run up to a point of a program, with tensors of the inside as outputs.
#pragma once

#include <span>
#include <string>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

// Keeps what runs up to instruction `last`, and that one too unless `before`.
isa::Program cut_at(isa::Program program, isa::InstructionId last, bool before);

// Keeps what a core runs before it waits for the other one for the time `count` + 1.
isa::Program cut_at_meeting(isa::Program program, int count);

// The first pass through the loops that are still open, innermost last: a counting loop ends after it, a
// while loop's body stands for itself.
isa::Program first_pass(isa::Program program, int open_loops);

// The program with these tensors as outputs. They begin with what the caller's buffer holds, so that bytes
// nobody writes can be told. Those that only this core sees get the prefix: the other core may have the name
// too.
isa::Program fragment(isa::Program program, std::span<const isa::TensorId> outputs, const std::string& prefix, int lnc);

}  // namespace kiln::rewrite
