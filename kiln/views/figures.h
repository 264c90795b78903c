// Figures: the numbers of a report by name. Where the vendor's profiler (neuron-profile summary) has a name
// for a figure, it is that name, in the profiler's unit: seconds, bytes, shares of 1 under names that end in
// _percent.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kiln/views/time_report.h"

namespace kiln::views {

enum class Unit : std::uint8_t { seconds, share, bytes, count, flops, flops_per_byte };

struct Figure {
  std::string_view key, label;
  Unit unit;
  double (*get)(const TimeReport&);
};
std::span<const Figure> figures();

// As people read it.
std::string to_text(const Figure& figure, double value);

}  // namespace kiln::views
