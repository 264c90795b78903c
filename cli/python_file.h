// Kernels in Python: the program `kiln` hands them to the Python package of the same name.
#pragma once

#include "cli/host.h"

namespace kiln::cli {

// Becomes the command `kiln` of the Python package (KILN_PYTHON names another interpreter than python3); returns an
// exit code only when there is no Python that can import kiln, after saying how to install it. Nothing is imported from
// the current folder, unless PYTHONPATH names it.
int hand_to_python(const PythonRequest& request);

}  // namespace kiln::cli
