// Place: a line of a source file.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace kiln {

struct Place {
  std::string file;
  int line = 0;  // 0: unknown
  auto operator<=>(const Place&) const = default;
};
std::string to_string(const Place& place);
// attention.kiln:7, 9, 12
std::string to_string(const std::vector<Place>& places);

}  // namespace kiln
