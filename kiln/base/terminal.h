// What the other end of a file descriptor can show.
#pragma once

#include <cstddef>

namespace kiln {

// Columns of the terminal; 0 when it is none.
std::size_t terminal_width(int fd);

// Whether to colour text there: a terminal that knows how, and NO_COLOR (no-color.org) is not set.
bool wants_colour(int fd);

}  // namespace kiln
