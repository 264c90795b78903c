// The longest lists of a traced program go to the next one: a kernel that is called again issues as much as before, and
// what the system gives anew it clears page by page.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::python {

// Gives an empty program the lists that the last one left, without elements.
void take_spare_lists(isa::Program& program);
// Of a program that nobody needs any more.
void leave_spare_lists(isa::Program& program);

}  // namespace kiln::python
