// The order of a run, from the caller's buffers to the report. Within it, core.cpp says in what order one instruction
// goes, and pair.cpp how two cores meet.
#include "kiln/sim/machine.h"

#include <memory>

#include "kiln/analysis/trips.h"
#include "kiln/base/thread_count.h"
#include "kiln/sim/buffers.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/core.h"
#include "kiln/sim/first_nonfinite.h"
#include "kiln/sim/memory_need.h"
#include "kiln/sim/pair.h"
#include "kiln/sim/pass_teller.h"
#include "kiln/sim/placed_error.h"
#include "kiln/sim/results.h"

namespace kiln::sim {
namespace {

bool looks_for_nan(const RunOptions& options) { return kChecks && options.nan != NanMode::off; }

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

void report_warnings(Common& common, FirstNonfinite& nonfinite, const PassTeller& passes) {
  for (auto& found : {common.warnings.take(), nonfinite.take()}) {
    for (const isa::WarningSink::Warning& warning : found) {
      common.report.warnings.push_back(warning.diagnostic);
      passes.tell(common.report.warnings.back(), *warning.inst, warning.pass);
    }
  }
}

}  // namespace

bool parse_nan_mode(std::string_view text, NanMode& out) {
  const auto* const found = std::ranges::find(kNanModes, text);
  if (found == std::end(kNanModes)) return false;
  out = static_cast<NanMode>(found - std::begin(kNanModes));
  return true;
}

RunReport run(const isa::Launch& launch, const Arch& arch, const Buffers& buffers, const RunOptions& options) {
  isa::require_sound(launch);
  KILN_ASSERT(arch.partitions <= kMaxPartitions);
  require_memory(launch, options.max_memory);
  const PassTeller passes(launch, options);
  try {
    RunReport report;
    FirstNonfinite nonfinite(options.nan);
    TaskQueue queue(thread_count(options.threads), options.poll, looks_for_nan(options) ? &nonfinite : nullptr);
    Common common{queue, report};
    share_buffers(launch, buffers, common);
    if ((common.done = options.done)) common.expected = expected_instructions(launch);
    run_cores(launch, arch, options, common);
    report_warnings(common, nonfinite, passes);
    check_arrivals(launch, common.tensors, common.origins, report);
    warn_unwritten(launch, common.tensors, options.fill_unwritten, report);
    return report;
  } catch (const PlacedError& e) {
    std::vector<Diagnostic> diagnostics = e.diagnostics();
    for (Diagnostic& d : diagnostics) passes.tell(d, *e.program, e.inst, e.pass);
    throw Error(std::move(diagnostics));
  }
}

}  // namespace kiln::sim
