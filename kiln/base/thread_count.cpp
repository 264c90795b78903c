#include "kiln/base/thread_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace kiln {

int thread_count(int asked) {
  if (asked < 0) raise(thread_rules::kTable, thread_rules::kNotNegative, {.found = fmt::format("{} threads", asked)});
  return asked > 0 ? asked : std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace kiln
