// What-if: the constants of arch/ that a user may change by name to ask what would be.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/arch/arch.h"

namespace kiln::timing {

struct WhatIf {
  std::string name;
  double value = 1;
  bool relative = true;  // a factor ("2x"), else the value itself
};

// One constant by name. `get` and `set` reach into an Arch.
struct Constant {
  std::string_view name, unit, text;
  double (*get)(const Arch&);
  void (*set)(Arch&, double);
};
std::span<const Constant> constants();

// "dma_bandwidth=2x" or "dma_start=900". Throws Error when the name is unknown or the value is no positive
// number.
WhatIf parse_what_if(std::string_view text);

Arch apply(const Arch& arch, std::span<const WhatIf> changes);

}  // namespace kiln::timing
