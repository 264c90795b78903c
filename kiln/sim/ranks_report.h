// Why ranks wait for each other in vain.
#pragma once

#include <string>
#include <vector>

#include "kiln/isa/inst_view.h"
#include "kiln/sim/ranks.h"

namespace kiln::sim {

// How two calls of a collective differ that have to be alike, in words; empty when they do not.
std::string difference(const isa::InstView& a, const isa::InstView& b);

// All ranks have ended or wait: throws the Error that tells where each of them is.
[[noreturn]] void report_waiting(const std::vector<Rank*>& ranks);

}  // namespace kiln::sim
