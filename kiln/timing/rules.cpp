#include "kiln/timing/rules.h"

#include <string>

namespace kiln::timing {
namespace {

constexpr RuleText kRules[] = {
    {"timing.trip_count", "the trip count of a loop on registers is known only at run time and must be given",
     "pass --trip-count NAME=COUNT, or trip_counts={...} in Python"},
    {"timing.what_if", "a what-if is NAME=FACTORx or NAME=VALUE with a positive number",
     "kiln time --what-if list names the constants"},
    {"timing.deadlock", "both cores of a pair reach the same sendrecv and core_barrier instructions",
     "make both cores issue the same sequence of them"},
    {"timing.cancelled", "the caller cancelled the timing", "start it again to have a result"},
};

}  // namespace

std::span<const RuleText> timing_rules() { return kRules; }

Diagnostic timing_diagnostic(std::string_view code, Category category) {
  for (const RuleText& r : kRules) {
    if (r.code != code) continue;
    Diagnostic d;
    d.category = category;
    d.code = r.code;
    d.rule = r.text;
    d.help = r.help;
    return d;
  }
  internal_error(__FILE__, __LINE__, "no rule " + std::string(code));
}

}  // namespace kiln::timing
