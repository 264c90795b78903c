// What Python knows of a check, as the verdict that is shown.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/check/summary.h"

namespace kiln::python {

using ProgramRef = std::shared_ptr<isa::Program>;
using CheckedCores = std::vector<std::pair<ProgramRef, const check::Report*>>;

inline check::Verdict verdict_of(std::string title, const CheckedCores& cores, std::size_t errors,
                                 std::size_t warnings) {
  check::Verdict verdict{.title = std::move(title), .errors = errors, .warnings = warnings};
  for (const auto& [program, report] : cores) verdict.cores.push_back({program.get(), &report->allocation});
  return verdict;
}

}  // namespace kiln::python
