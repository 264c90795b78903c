// The order of a run, from the caller's buffers to the report. Within it, core.cpp says in what order one instruction
// goes, and pair.cpp how two cores meet.
#include "kiln/sim/machine.h"

#include <memory>

#include "kiln/analysis/trips.h"
#include "kiln/base/thread_count.h"
#include "kiln/sim/buffers.h"
#include "kiln/sim/core.h"
#include "kiln/sim/memory_need.h"
#include "kiln/sim/pair.h"
#include "kiln/sim/results.h"

namespace kiln::sim {
namespace {

// What all cores see: the tensors of the caller, and what may be done with them.
void share_buffers(const isa::Launch& launch, const Buffers& buffers, Common& common) {
  bind_buffers(launch, buffers, common.tensors);
  common.written = written_buffers(launch);
  common.may_borrow = inputs_stay(launch, buffers);
  common.cores = launch.cores_per_rank;
}

// Instructions that all cores execute; 0 when that shows only at run time.
double expected_instructions(const isa::Launch& launch) {
  double sum = 0;
  for (const isa::Program* p : launch.cores()) {
    analysis::TripCounts trips;
    for (const isa::Loop& loop : p->loops) {
      const std::optional<std::int64_t> known = analysis::known_trips(loop);
      if (!known) return 0;
      trips.push_back(*known);
    }
    sum += analysis::executed_instructions(*p, p->body, trips);
  }
  return sum;
}

// Issues all instructions of all cores and waits for their values.
void run_cores(const isa::Launch& launch, const Arch& arch, const RunOptions& options, Common& common) {
  std::vector<std::unique_ptr<Core>> cores;
  for (const isa::Program* p : launch.cores())
    cores.push_back(std::make_unique<Core>(*p, arch, options, common, static_cast<int>(cores.size())));
  try {
    run_together(cores, arch, common.races);
  } catch (...) {
    if (!common.queue.stopped()) common.queue.wait();  // what was issued before may fail too: that is the first failure
    throw;
  }
  common.queue.wait();
}

}  // namespace

RunReport run(const isa::Launch& launch, const Arch& arch, const Buffers& buffers, const RunOptions& options) {
  isa::require_sound(launch);
  KILN_ASSERT(arch.partitions <= kMaxPartitions);
  require_memory(launch, options.max_memory);
  RunReport report;
  TaskQueue queue(thread_count(options.threads), options.poll);
  Common common{queue, report};
  share_buffers(launch, buffers, common);
  if ((common.done = options.done)) common.expected = expected_instructions(launch);
  run_cores(launch, arch, options, common);
  report.warnings = common.warnings.take();
  check_arrivals(launch, common.tensors, common.origins, report);
  warn_unwritten(launch, common.tensors, options.fill_unwritten, report);
  return report;
}

}  // namespace kiln::sim
