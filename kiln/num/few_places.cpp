#include "kiln/num/few_places.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

thread_local const FewPlaces* current_places = nullptr;

}  // namespace

FewPlaces::FewPlaces(const float* data, std::size_t rows, std::size_t columns, std::vector<std::int64_t> places)
    : data(data), rows(rows), columns(columns), start(columns + 1, 0) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const auto column_of = [&](std::int64_t place) { return static_cast<std::size_t>(place) % columns; };
  for (const std::int64_t place : places) ++start[column_of(place) + 1];
  for (std::size_t c = 0; c < columns; ++c) start[c + 1] += start[c];
  elements.resize(places.size());
  std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
  for (const std::int64_t place : places)
    elements[next[column_of(place)]++].row = static_cast<std::uint32_t>(static_cast<std::size_t>(place) / columns);
  read_values();
}

void FewPlaces::read_values() {
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::uint32_t e = start[c]; e < start[c + 1]; ++e) elements[e].value = data[elements[e].row * columns + c];
  }
}

const FewPlaces* FewPlaces::current() { return current_places; }

FewPlaces::Scope::Scope(const FewPlaces* places) : before_(std::exchange(current_places, places)) {}
FewPlaces::Scope::~Scope() { current_places = before_; }

}  // namespace kiln
