// What the process of the command line does on signals. Nothing but its main function may ask for it: a library leaves
// the signals of its host alone.
#pragma once

namespace kiln::cli {

// From now on a signal that ends the process removes its temporary files first, and a file that grows beyond its limit
// is an error of the write. Signals for which somebody else has chosen something are left as they are.
void tidy_on_signals();

}  // namespace kiln::cli
