// Text that may go to a terminal: names and lines of users' files must not move the cursor, change colours or turn the
// writing round. JSON has its own way and needs none of this.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln {

// Control characters, signs that change the direction of writing and bytes that are no UTF-8, as escapes (`\x1b`,
// `\u202e`). Line ends and tabs stay.
std::string printable(std::string_view text);

// The same for a name, which has no line ends either.
std::string printable_name(std::string_view name);

// A line of somebody's file: each such character becomes one `?`, so that what stands below it stays in its place. Cut
// after max_bytes.
std::string printable_line(std::string_view line, std::size_t max_bytes);

}  // namespace kiln
