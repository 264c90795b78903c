// Static loops written out, pass by pass: what a trace of the program's Python source would have recorded.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

// A tensor or register that a loop's body makes is made anew in every pass. Loops on registers stay.
// `origins`: filled with the instruction of `program` that each of the new ones is a pass of.
isa::Program unroll(const isa::Program& program, std::vector<isa::InstructionId>* origins = nullptr);

// The unrolled program without what its writer may choose: names of what is not given or returned, places in the
// source, the words for HBM, strides that are never taken, which registers are marked as frozen. Programs that print
// the same in this form are the same program.
isa::Program normal_form(const isa::Program& program);

}  // namespace kiln::rewrite
