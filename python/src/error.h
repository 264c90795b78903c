// kiln::Error as Python exceptions, and small ways to raise one.
#pragma once

#include <string>

#include "python/src/bindings.h"
#include "python/src/rules.h"

namespace kiln::python {

// A diagnostic of the Python layer: what was passed where it does not belong.
[[noreturn]] void refuse(const Rule& rule, std::string found, std::string help, Category category = Category::invalid,
                         std::string allowed = {});

// Gives a diagnostic that has no place the user's line that is running now.
void locate_here(Diagnostic& diagnostic);

// Sets the Python error for an Error: the class that the package registered, with the diagnostics.
void set_python_error(std::vector<Diagnostic> diagnostics);

}  // namespace kiln::python
