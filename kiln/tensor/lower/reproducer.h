// A fault of the compiler leaves the program that shows it, as a file.
#pragma once

#include "kiln/base/function_ref.h"
#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

// What `compile_it` gives. An internal error of it gets a note that names the file, in the folder for temporary files,
// and the command that repeats it.
Compiled or_reproducer(const Graph& graph, const CompileOptions& options, FunctionRef<Compiled()> compile_it);

}  // namespace kiln::tensor
