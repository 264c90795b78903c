// A report for the terminal.
#pragma once

#include <span>
#include <string>

#include "kiln/views/time_report.h"

namespace kiln::views {

struct TextOptions {
  std::size_t lines = 10;  // of the critical path and of the hottest lines; the rest is counted
  std::size_t width = 0;   // characters of the terminal; 0: lines are as long as they are
};

std::string to_text(const TimeReport& report, const TextOptions& options = {});

}  // namespace kiln::views
