// Advice: what in a program costs time that it need not, on which lines, and what a change would gain. One
// rule per file <name>.cpp, one row in advice.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/advice/evidence.h"
#include "kiln/base/place.h"
#include "kiln/base/place_index.h"

namespace kiln::advice {

// Lines without repetition, in the order they came; those past the first kMaxPlaces are only counted.
inline constexpr std::size_t kMaxPlaces = 100;
struct PlaceList {
  std::vector<Place> first;
  std::size_t left_out = 0;
};
class Places {
 public:
  void add(const std::string& file, int line);
  void add(const Place& place) { add(place.file, place.line); }
  void add(const isa::InstView& inst) { add(inst.loc().file, inst.loc().line); }
  PlaceList take() && { return std::move(list_); }

 private:
  PlaceIndex seen_;
  PlaceList list_;
};

struct Advice {
  std::string_view rule;  // stable name of the rule
  std::string found;      // what was found, with figures
  std::string remedy;     // what to change
  PlaceList places;
  double gain_ns = 0;    // estimated saving of the total
  std::string estimate;  // how gain_ns came about, and what it assumes
};

inline constexpr double kLeastAdvice = 0.01;  // of the total, to be said

struct AdviceRule {
  std::string_view name, text;
  // Sets what was found, the remedy, the places and the gain; empty when there is nothing to say.
  std::optional<Advice> (*look)(const Evidence&);
};
std::span<const AdviceRule> advice_rules();

// All that gains at least 1 % of the total, the largest gain first.
std::vector<Advice> advise(const TimedRun& run);

}  // namespace kiln::advice
