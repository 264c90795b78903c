// Advice: what in a program costs time that it need not, on which lines, and what a change would gain. One
// rule per file advice_<name>.cpp, one row in advice.cpp.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kiln/views/lines.h"

namespace kiln::views {

// Lines without repetition, in the order they came; those past the first kMaxPlaces are only counted.
inline constexpr std::size_t kMaxPlaces = 100;
struct PlaceList {
  std::vector<Place> first;
  std::size_t left_out = 0;
};
class Places {
 public:
  void add(const Place& place);
  void add(const isa::InstView& inst) { add(Place{inst.loc().file, inst.loc().line}); }
  PlaceList take() && { return std::move(list_); }

 private:
  std::set<Place> seen_;
  PlaceList list_;
};

struct Advice {
  std::string_view rule;  // stable name of the rule
  std::string found;      // what was found, with figures
  std::string remedy;     // what to change
  PlaceList places;
  double gain_ns = 0;         // estimated saving of the total
  std::string_view estimate;  // how gain_ns came about
};

inline constexpr std::string_view kRerun = "model re-run with the change";
inline constexpr std::string_view kFromPath = "bound from the critical path";

// What a rule looks at, and how it asks the model.
class Evidence {
 public:
  explicit Evidence(const TimedRun& run);

  const TimedRun& run;
  const std::vector<std::vector<std::int64_t>> executions;  // by core and instruction
  double total_ns() const { return timing::to_ns(run.timeline.total); }
  // What the total would shrink by with constants changed (as in --what-if), or with other programs.
  double gain_with(const std::vector<timing::WhatIf>& changes) const;
  double gain_with(const std::vector<isa::Program>& cores) const;
};

struct AdviceRule {
  std::string_view name, text;
  // Sets what was found, the remedy, the places and the gain; empty when there is nothing to say.
  std::optional<Advice> (*look)(const Evidence&);
};
std::span<const AdviceRule> advice_rules();

// All that gains at least 1 % of the total, the largest gain first.
std::vector<Advice> advise(const TimedRun& run);

}  // namespace kiln::views
