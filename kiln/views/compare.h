// Reports side by side: two versions of a kernel, or one kernel on several chips.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "kiln/views/time_report.h"

namespace kiln::views {

struct Column {
  std::string title;
  const TimeReport* report;
};

// One row per figure that any column has. Two columns get a third: the second against the first.
std::string compare_text(std::span<const Column> columns);
// {"columns": [title, …], "figures": {key: [value, …]}, "bottlenecks": […]}
nlohmann::ordered_json compare_json(std::span<const Column> columns);

}  // namespace kiln::views
