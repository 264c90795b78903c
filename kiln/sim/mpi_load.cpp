#include "kiln/sim/mpi_load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "kiln/sim/mpi_rules.h"

namespace kiln::sim {
namespace {

// Where the file may be: where the user says, beside this code, and beside the package of the same build.
std::vector<std::string> candidates() {
  if (const char* named = std::getenv("KILN_MPI_LIBRARY")) return {named};
  std::vector<std::string> found;
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void*>(&started_processes), &here) || !here.dli_fname) return found;
  std::error_code ignored;
  std::filesystem::path file = std::filesystem::canonical(here.dli_fname, ignored);
  if (ignored) file = std::filesystem::canonical("/proc/self/exe", ignored);
  const std::filesystem::path folder = file.parent_path();
  for (const auto& place : {folder, folder / ".." / "python" / "kiln"}) {
    if (std::filesystem::exists(place / kPluginFile, ignored)) found.push_back((place / kPluginFile).string());
  }
  return found;
}

}  // namespace

int started_processes() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size ? std::max(std::atoi(size), 1) : 1;
}

const Plugin& load_plugin() {
  std::string why =
      fmt::format("mpirun started {} processes, and this Kiln was built without MPI", started_processes());
  for (const std::string& file : candidates()) {
    // Components of Open MPI look for its symbols in the whole process.
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      why = dlerror();
      continue;
    }
    const auto entry = reinterpret_cast<PluginEntry>(dlsym(library, kPluginEntry));
    if (entry && entry()->version == kPluginVersion) return *entry();
    why = fmt::format("{} is of another Kiln", file);
  }
  raise(mpi_rules::kTable, mpi_rules::kBuiltWithMpi, {.found = why});
}

}  // namespace kiln::sim
