#include "kiln/base/thread_count.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
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

// Linux tells how many threads run, or could: this one, and those of others, which may be on any processor.
int idle_processors() {
  static const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  static const int online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const int all = thread_count(0);
  char text[64] = {};
  int running = 0;
  if (file < 0 || pread(file, text, sizeof text - 1, 0) <= 0) return all;
  if (std::sscanf(text, "%*f %*f %*f %d/", &running) != 1) return all;
  return std::clamp(std::max(online, all) - (running - 1), 1, all);
}

}  // namespace kiln
