// Text for a terminal that is narrower than its lines.
#pragma once

#include <string>
#include <string_view>

namespace kiln::views {

// Breaks lines that are longer than `width` characters between words; 0 leaves all as they are. What is left
// of a line of a table goes below its last column, what is left of others below their second word.
std::string fit_width(std::string_view text, std::size_t width);

}  // namespace kiln::views
