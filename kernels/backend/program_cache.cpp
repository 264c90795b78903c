#include "kernels/backend/program_cache.h"

#include <fmt/format.h>

#include <list>
#include <mutex>
#include <unordered_map>

#include "kiln/check/check_program.h"

namespace kiln::backend {
namespace {

using ProgramRef = std::shared_ptr<const isa::Program>;
struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, ProgramRef> programs;
  std::list<std::string> oldest_first;
};
Cache& cache() {
  static Cache c;
  return c;
}

ProgramRef made(Target target, const std::function<isa::Program(Target)>& make) {
  auto program = std::make_shared<const isa::Program>(make(target));
  const check::Report report = check::check_program(*program, arch(target));
  if (!report.ok()) throw Error(report.diagnostics);
  return program;
}

}  // namespace

ProgramRef cached_program(const std::string& operation, const std::string& key, Target target,
                          const std::function<isa::Program(Target)>& make) {
  const std::string full = fmt::format("{} {} {}", operation, arch(target).name, key);
  Cache& c = cache();
  {
    std::lock_guard lock(c.mutex);
    if (const auto found = c.programs.find(full); found != c.programs.end()) return found->second;
  }
  ProgramRef program = made(target, make);  // others may make it too meanwhile: they are the same
  std::lock_guard lock(c.mutex);
  if (!c.programs.emplace(full, program).second) return program;
  c.oldest_first.push_back(full);
  if (c.oldest_first.size() > kMostPrograms) {
    c.programs.erase(c.oldest_first.front());
    c.oldest_first.pop_front();
  }
  return program;
}

std::size_t cached_program_count() {
  std::lock_guard lock(cache().mutex);
  return cache().programs.size();
}

void clear_programs() {
  std::lock_guard lock(cache().mutex);
  cache().programs.clear();
  cache().oldest_first.clear();
}

}  // namespace kiln::backend
