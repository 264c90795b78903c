#include "kiln/base/place.h"

#include <fmt/format.h>

namespace kiln {

std::string to_string(const Place& place) {
  if (place.file.empty() && place.line == 0) return "(unknown line)";
  return place.line ? fmt::format("{}:{}", place.file, place.line) : place.file;
}

std::string to_string(const std::vector<Place>& places) {
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool same_file = i > 0 && places[i].file == places[i - 1].file && places[i].line;
    text += same_file ? fmt::format(", {}", places[i].line) : fmt::format("{}{}", i ? ", " : "", to_string(places[i]));
  }
  return text;
}

}  // namespace kiln
