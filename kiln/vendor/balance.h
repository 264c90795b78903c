// Balancing: instructions whose engine the kernel leaves open go to the engine that has less to do.
#pragma once

#include "kiln/vendor/passes.h"

namespace kiln::vendor {

// Between the vector and the scalar engine: copies, casts, and products and sums with numbers, which the scalar engine
// does as x * scale + bias on every generation. Tiles that are filled with one value: gpsimd. Returns how many
// instructions changed their engine.
std::int64_t balance(isa::Program& program, const Arch& arch, const CompilerSpec& compiler = {});

// Whether it might move one of the program's instructions.
bool leaves_engines_open(isa::Program& program, const Arch& arch);

}  // namespace kiln::vendor
