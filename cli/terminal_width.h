// How wide the terminal is.
#pragma once

#include <cstddef>

namespace kiln::cli {

// Characters of a line on stdout; 0 when that is no terminal.
std::size_t terminal_width();

}  // namespace kiln::cli
