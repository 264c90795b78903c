// Kernels in Python: the program `kiln` hands them to the Python package of the same name.
#pragma once

namespace kiln::cli {

// Whether a .py file is among the words of a command that takes a kernel, or the label to explain is one that
// only the package knows.
bool is_for_python(int argc, char** argv);

// Becomes `python3 -m kiln ...` (KILN_PYTHON names another interpreter); returns an exit code only when there
// is no Python that can import kiln, after saying how to install it.
int hand_to_python(int argc, char** argv);

}  // namespace kiln::cli
