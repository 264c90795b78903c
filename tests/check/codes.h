// The codes of diagnostics, for short expectations.
#pragma once

#include <string>
#include <vector>

#include "kiln/base/error.h"

namespace kiln::check {

using Codes = std::vector<std::string>;

inline Codes codes(const std::vector<Diagnostic>& diagnostics) {
  Codes all;
  for (const Diagnostic& d : diagnostics) all.push_back(d.code);
  return all;
}

}  // namespace kiln::check
