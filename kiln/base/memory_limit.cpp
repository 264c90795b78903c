#include "kiln/base/memory_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "kiln/base/quantity_text.h"

namespace kiln {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr const char* kGroups = "/sys/fs/cgroup";

// The number in a file; no limit when there is none, as in "max".
std::int64_t number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number && number > 0 ? number : kNoLimit;
}

// The least of what the groups around a process may take. In a container the outermost that shows is its own.
std::int64_t group_memory() {
  std::int64_t least = std::min(number_in(std::filesystem::path(kGroups) / "memory" / "memory.limit_in_bytes"),
                                number_in(std::filesystem::path(kGroups) / "memory.max"));
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    std::filesystem::path group = kGroups + line.substr(3);
    for (; group.native().size() > std::string_view(kGroups).size(); group = group.parent_path())
      least = std::min(least, number_in(group / "memory.max"));
  }
  return least;
}

std::int64_t resource_limit(int resource) {
  rlimit limit;
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return kNoLimit;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(kNoLimit)));
}

std::int64_t machine_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages * page : kNoLimit;
}

}  // namespace

std::int64_t default_max_memory() {
  static const std::int64_t bytes =
      std::min({machine_memory(), group_memory(), resource_limit(RLIMIT_AS), resource_limit(RLIMIT_DATA)}) / 10 * 9;
  return bytes;
}

void require_memory(double bytes, std::int64_t max_memory, const std::string& what, SourceLoc loc) {
  const auto most = static_cast<double>(max_memory > 0 ? max_memory : default_max_memory());
  if (bytes <= most) return;
  raise(limit_rules::kTable, limit_rules::kMemory,
        {.found = fmt::format("{}: {}, where {} may be taken", what, bytes_text(bytes), bytes_text(most)),
         .loc = std::move(loc)});
}

}  // namespace kiln
