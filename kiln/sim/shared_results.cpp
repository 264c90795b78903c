#include "kiln/sim/shared_results.h"

#include <map>
#include <set>

#include "kiln/isa/text/print.h"
#include "kiln/sim/buffers.h"
#include "kiln/sim/message.h"

namespace kiln::sim {
namespace {

// Which ranks a process has buffers for.
std::string wanted_ranks(std::span<const Buffers> of_ranks) {
  std::string wanted;
  for (const Buffers& buffers : of_ranks) wanted += buffers.empty() ? '-' : '+';
  return wanted;
}

std::span<std::byte> bytes_of(const Buffer& buffer) { return {static_cast<std::byte*>(buffer.data), buffer.bytes}; }

void share_outputs(Processes& processes, const isa::Launch& launch, std::span<const Buffers> of_ranks) {
  const std::vector<std::string> wanted = all_say(processes, wanted_ranks(of_ranks));
  for (int rank = 0; rank < launch.ranks; ++rank) {
    const int home = process_of(rank, launch.ranks, processes.count());
    for (const std::string& name : written_buffers(launch.of_rank(rank))) {
      for (int p = 0; p < processes.count(); ++p) {
        if (p == home || wanted[p][rank] == '-') continue;
        if (home == processes.self()) processes.send(p, bytes_of(of_ranks[rank].at(name)));
        if (p == processes.self()) processes.receive(home, bytes_of(of_ranks[rank].at(name)));
      }
    }
  }
  processes.wait();
}

}  // namespace

std::string text_of(const isa::Launch& launch) {
  std::string text;
  std::map<const isa::Program*, std::size_t> seen;  // ranks may run the same program
  for (const isa::Program* p : launch.programs) {
    const auto [it, fresh] = seen.try_emplace(p, seen.size());
    text += fresh ? isa::print(*p) : std::to_string(it->second);
  }
  return text;
}

isa::Launch own_ranks(const isa::Launch& launch, const Processes* processes) {
  if (!processes) return launch;
  isa::Launch own;
  own.cores_per_rank = launch.cores_per_rank;
  const int first = first_rank(processes->self(), launch.ranks, processes->count());
  const int end = first_rank(processes->self() + 1, launch.ranks, processes->count());
  own.ranks = end - first;
  own.programs.assign(launch.programs.begin() + first * own.cores_per_rank,
                      launch.programs.begin() + end * own.cores_per_rank);
  return own;
}

void share_results(Processes& processes, const isa::Launch& launch, std::span<const Buffers> of_ranks,
                   RunReport& report) {
  share_outputs(processes, launch, of_ranks);
  MessageWriter counts;
  counts << report.instructions;
  for (const std::int64_t count : report.instructions_by_engine) counts << count;
  report.instructions = 0;
  report.instructions_by_engine = {};
  for (const std::string& text : all_say(processes, counts.text())) {
    MessageReader reader(text);
    report.instructions += reader.next();
    for (std::int64_t& count : report.instructions_by_engine) count += reader.next();
  }
}

}  // namespace kiln::sim
