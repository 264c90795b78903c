#include "kiln/sim/processes.h"

#include <fmt/format.h>

#include <cstdint>
#include <functional>

#include "kiln/sim/mpi_rules.h"

namespace kiln::sim {

std::vector<std::string> all_say(Processes& processes, const std::string& own) {
  const int count = processes.count(), self = processes.self();
  std::vector<std::uint64_t> sizes(count, own.size());
  for (int p = 0; p < count; ++p) {
    if (p == self) continue;
    processes.send(p, std::as_bytes(std::span(&sizes[self], 1)));
    processes.receive(p, std::as_writable_bytes(std::span(&sizes[p], 1)));
  }
  processes.wait();
  std::vector<std::string> said(count);
  for (int p = 0; p < count; ++p) {
    said[p].resize(sizes[p]);
    if (p == self) {
      said[p] = own;
      continue;
    }
    if (!own.empty()) processes.send(p, std::as_bytes(std::span(own)));
    if (!said[p].empty()) processes.receive(p, std::as_writable_bytes(std::span(said[p])));
  }
  processes.wait();
  return said;
}

int first_rank(int process, int ranks, int processes) {
  return static_cast<int>(std::int64_t{process} * ranks / processes);
}

int process_of(int rank, int ranks, int processes) {
  int process = 0;
  while (process + 1 < processes && first_rank(process + 1, ranks, processes) <= rank) ++process;
  return process;
}

void require_same_launch(Processes& processes, int ranks, const std::string& launch) {
  const std::string own = fmt::format("{} ranks, {:016x}", ranks, std::hash<std::string>()(launch));
  const std::vector<std::string> all = all_say(processes, own);
  for (std::size_t p = 1; p < all.size(); ++p) {
    if (all[p] != all[0])
      raise(mpi_rules::kTable, mpi_rules::kSameLaunch,
            {.found = fmt::format("process {} runs other programs than process 0", p)});
  }
  if (ranks < processes.count())
    raise(mpi_rules::kTable, mpi_rules::kSameLaunch,
          {.found = fmt::format("{} ranks for {} processes", ranks, processes.count()),
           .help = "start at most as many processes as there are ranks: mpirun -n"});
}

}  // namespace kiln::sim
