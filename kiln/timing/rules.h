// What the timing model asks of a program and of its caller.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::timing {

namespace timing_rules {
inline constexpr Rule kTripCount{"trip_count",
                                 "the trip count of a loop on registers is known only at run time and must be given",
                                 "pass --trip-count NAME=COUNT, or trip_counts={...} in Python"};
inline constexpr Rule kKnownLoop{"known_loop", "a trip count names a loop on a register and is not negative",
                                 "use the name of the register that counts or is tested"};
inline constexpr Rule kWhatIf{"what_if", "a what-if is NAME=FACTORx or NAME=VALUE with a positive number",
                              "kiln time --what-if list names the constants"};
inline constexpr Rule kDeadlock{"deadlock",
                                "both cores of a pair reach the same sendrecv and core_barrier instructions, and the "
                                "ranks of a group the same collectives",
                                "make all of them issue the same sequence"};
inline constexpr Rule kKnownPass{"known_pass", "a pass of the vendor's compiler that is left out has one of its names",
                                 "name one of those that the message lists, or leave it out"};
inline constexpr Rule kCancelled{"cancelled", "the caller cancelled the timing", "start it again to have a result"};
inline constexpr Rule kOneByOne{"limit",
                                "passes of loops are simulated one by one, up to so many instructions, where they are "
                                "not the one before, only later",
                                "raise the limit (--limit, in Python limit=, in C++ TimingOptions::limit), make the "
                                "loop shorter, or time a pass of "
                                "it alone"};
inline constexpr Rule kLongestTime{"longest_time", "a program takes at most 53 days on the chip",
                                   "make the loop shorter, or time a pass of it alone"};

inline constexpr Rule kTopology{"topology", "a topology has one of the names of the table, and the program's chip",
                                "kiln time --topology list names them"};

inline constexpr Rule kRules[] = {kTripCount, kKnownLoop, kWhatIf,      kDeadlock, kKnownPass,
                                  kCancelled, kOneByOne,  kLongestTime, kTopology};
inline constexpr RuleTable kTable{"timing", "the timing model", kRules, Category::config};
}  // namespace timing_rules

}  // namespace kiln::timing
