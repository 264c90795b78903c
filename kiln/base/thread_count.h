// How many threads to use for what somebody asked.
#pragma once

#include "kiln/base/rule.h"

namespace kiln {

namespace thread_rules {
inline constexpr Rule kNotNegative{1, "the number of threads is not negative", "use 0 for one per processor"};

inline constexpr Rule kRules[] = {kNotNegative};
inline constexpr RuleTable kTable{"threads", "threads", kRules, Category::config};
}  // namespace thread_rules

// 0 means one per processor; a negative count is an Error of category `config`.
int thread_count(int asked);

// How many of this thread's processors nobody else uses just now, at least one: threads beyond those keep the others
// waiting. It takes a few microseconds to ask; where the system does not tell, it is all of them.
int idle_processors();

}  // namespace kiln
