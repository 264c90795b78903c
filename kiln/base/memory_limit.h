// How much memory may be taken. What takes much of it asks here first, so that a wrong shape is an error with a name
// and not the end of the machine.
#pragma once

#include <cstdint>
#include <string>

#include "kiln/base/rule.h"

namespace kiln {

namespace limit_rules {
inline constexpr Rule kMemory{1, "what is to be held in memory at once fits into the memory that may be taken",
                              "use smaller tensors, or allow more: --max-memory, KILN_MAX_MEMORY, in C++ max_memory"};

inline constexpr Rule kRules[] = {kMemory};
inline constexpr RuleTable kTable{"limit", "limits of this machine", kRules, Category::config};
}  // namespace limit_rules

// Nine tenths of what this process can have: the machine's memory, or less where its control group or a resource limit
// says so. Asked once.
std::int64_t default_max_memory();

// Throws Error when so many bytes are more than `max_memory` (0: the default). `what` they are for: "the tensors of a
// run".
void require_memory(double bytes, std::int64_t max_memory, const std::string& what, SourceLoc loc = {});

}  // namespace kiln
