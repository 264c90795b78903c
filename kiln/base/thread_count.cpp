#include "kiln/base/thread_count.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace kiln {
namespace {

// Processors that this thread may run on. hardware_concurrency() may open a file each time, which takes microseconds.
int processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<int>(std::thread::hardware_concurrency());  // more processors than the set has places
}

}  // namespace

int thread_count(int asked) {
  if (asked < 0) raise(thread_rules::kTable, thread_rules::kNotNegative, {.found = fmt::format("{} threads", asked)});
  return asked > 0 ? asked : std::max(processors(), 1);
}

}  // namespace kiln
